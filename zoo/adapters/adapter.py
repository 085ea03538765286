"""What all adapters share: a program that answers questions about one trace, a line of JSON for each answer, in order.

usage of an adapter: ADAPTER.py FORMAT QUESTION,... FILE...

An answer is {"answer": {key: value}}, with "said" where the tool itself says that something is missing or doubtful in it,
{"refused": "why"} where the tool says that it cannot, or {"not claimed": "why"}. Keys are those of the truth (docs/zoo.md); an
adapter leaves out those that its tool does not have. An exception is an answer as well: the tool crashed.
"""
import json
import os
import sys
import traceback


class Refused(Exception):
    """The tool said that it cannot read or answer this."""


class NotClaimed(Exception):
    """The tool does not claim to answer this."""


def is_refusal(error):
    """A text that is not JSON, or a `raise` of the tool's own: not an exception that a library below it met."""
    if type(error).__name__ in ("JSONDecodeError", "UnicodeDecodeError"):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    libraries = ("numpy", "pandas", "lib/python3.11/json")
    return "site-packages" in last.filename and not any(f"site-packages/{x}" in last.filename for x in libraries) and (last.line or "").startswith("raise")


def answers(module, form, questions, files):
    """Yields (question, dictionary)."""
    reader = None
    for question in questions:
        try:
            if reader is None:
                reader = module.Tool(form, files)
            got = getattr(reader, question)()
            got = {"answer": got} if not isinstance(got, tuple) else {"answer": got[0], "said": got[1]}
        except Refused as e:
            got = {"refused": str(e)[:300]}
        except NotClaimed as e:
            got = {"not claimed": str(e)[:300]}
        except Exception as e:
            if not is_refusal(e):
                raise
            got = {"refused": f"{type(e).__name__}: {e}"[:300]}
        yield question, got


def main(module):
    """In a process of its own: whatever the tool prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    form, questions, *files = sys.argv[1:]
    try:
        for question, got in answers(module, form, questions.split(","), files):
            print(json.dumps({"question": question, **got}, default=float), file=out, flush=True)
    except Exception as e:  # the runner sees that a question has no answer, and goes on behind it
        traceback.print_exc()
        print(json.dumps({"crashed": f"{type(e).__name__}: {e}"[:300]}), file=out, flush=True)
        out.flush()
        os._exit(1)
    os._exit(0)
