"""Short names of kernels: without return type, template arguments and parameters. Mangled names as LLVM reads them.

c++filt gives up on names of CUTLASS that llvm-cxxfilt reads."""
import functools
import re
import shutil
import subprocess

FILTER = shutil.which("llvm-cxxfilt") or "c++filt"


def closing(text, at):
    """Behind the bracket that closes the one at `at`; the text's size where nothing does."""
    pairs, depth = {"<": ">", "(": ")", "{": "}", "[": "]"}, []
    i = at
    while i < len(text):
        c = text[i]
        if c in pairs and not (c == "<" and depth and depth[-1] == "(" and text[i - 1] == " "):
            depth.append(pairs[c])
        elif c == ">" and i and text[i - 1] == "-":
            pass
        elif depth and c == depth[-1]:
            depth.pop()
            if not depth:
                return i + 1
        i += 1
    return len(text)


@functools.lru_cache(None)
def short(name):
    if name.startswith("_Z"):
        name = subprocess.run([FILTER, name], capture_output=True, text=True, check=True).stdout.strip()
    if not re.search(r"::|<|^void |^[\w~]+\(", name):
        return name
    text, out, i = name.replace("(anonymous namespace)::", ""), "", 0
    while i < len(text):
        c = text[i]
        operator = re.match(r"operator(\(\)|<<=?|>>=?|<=>?|>=|->\*?|<|>)", text[i:])
        if operator and not re.search(r"\w$", out):
            out += operator.group(0)
            i += operator.end()
        elif c in "<([":
            i = closing(text, i)
        elif c == "{":
            end = closing(text, i)
            lambda_ = re.fullmatch(r"\{lambda\(.*\)(#\d+)\}", text[i:end])
            out += "{lambda%s}" % lambda_.group(1) if lambda_ else text[i:end]
            i = end
        elif c == " " and out and not out.endswith("operator"):
            out, i = "", i + 1  # what stood before was the return type, or what stands behind is a qualifier
            if re.match(r"(const|&|&&|volatile|\[)", text[i:]):
                return name
        else:
            out += c
            i += 1
    return out or name
