"""python -m heddle …: the command."""
from ._command import main

main()
