#!/usr/bin/python3
"""Runs a test with the Python that has pyarrow, DuckDB, pandas and the like, build/peers, or with this one where that is absent.

usage: with_peers.py SCRIPT [ARGUMENT...]
"""
import os
import sys
from pathlib import Path

peers = Path(__file__).resolve().parents[1] / "build/peers/bin/python"
python = str(peers) if peers.exists() else sys.executable
os.execv(python, [python, *sys.argv[1:]])
