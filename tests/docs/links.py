#!/usr/bin/python3
"""Links in README, the other pages of the top, docs and examples lead to files and headings that exist.

usage: tests/docs/links.py
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def anchors(path):
    """Those that GitHub makes of headings."""
    heads = re.findall(r"^#+ (.*)", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "").strip().lower()).replace(" ", "-") for head in heads}


def main():
    failed = seen = 0
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / ".github").rglob("*.md")), ROOT / "examples/README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"https?:|mailto:", link):
                continue
            seen += 1
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                failed += 1
                print(f"{path.relative_to(ROOT)}: {link} leads nowhere")
    print(f"{seen} links, {failed} failed")
    return 1 if failed or seen < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
