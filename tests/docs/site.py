#!/usr/bin/python3
"""The site of `make site` is whole: every link leads to a file and a heading of it, every page is reached from the first one,
and nothing is loaded from another place. Then, where there is a browser, site.mjs uses it there, as files.

usage: tests/docs/site.py build/site
"""
import os
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "tests/web"))
import chromium  # noqa: E402


class Page(HTMLParser):
    """The links of a page, what it loads, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], {"", "__top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.anchors |= {of[name] for name in ("id", "name") if of.get(name)}
        target = of.get("href") or of.get("src")
        if target and tag in ("a", "area"):
            self.links.append(target)
        elif target and of.get("rel") not in ("next", "prev"):
            self.loads.append(target)


def faults(site):
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    reached, todo, seen = set(), [(site / "index.html").resolve()], 0
    while todo:
        path = todo.pop()
        if path in reached or path not in pages:
            continue
        reached.add(path)
        here = path.relative_to(site.resolve())
        for target in pages[path].loads + pages[path].links:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                if target in pages[path].loads and url.scheme != "data":
                    yield f"{here} loads {target}"
                continue
            seen += 1
            to = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not to.is_file():
                yield f"{here}: {target} leads to no file"
            elif to in pages and unquote(url.fragment) not in pages[to].anchors:
                yield f"{here}: {target} leads to no heading"
            todo.append(to)
    for path in pages.keys() - reached - {(site / "404.html").resolve()}:
        yield f"{path.relative_to(site.resolve())}: no link leads there"
    # As many pages as there are texts, or the check above has looked at nothing.
    if len(reached) < len(list((ROOT / "docs").rglob("*.md"))):
        yield f"only {len(reached)} pages are reached"
    print(f"{len(reached)} pages, {seen} links")


def main(site):
    found = list(faults(Path(site)))
    print("\n".join(found[:50]))
    node, browser, missing = chromium.tools()
    if missing:
        print(f"no {missing}: not tried in a browser")
        return bool(found)
    with tempfile.TemporaryDirectory(prefix="heddle-site-") as folder:
        done = subprocess.run([node, ROOT / "tests/docs/site.mjs", browser, Path(site).resolve()], env={**os.environ, "HOME": folder, "TMPDIR": folder})
    return bool(found) or done.returncode != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
