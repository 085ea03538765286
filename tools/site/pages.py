"""MkDocs hooks: the navigation out of docs/README.md, and pages of what docs link to outside of docs/.

README.md and the like become pages below source/, and so do source files, as text; a link to one leads to its page.
"""
import json
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(\]\()([^)#\s]+)([^)\s]*\))")
FENCE = re.compile(r"^( *```.*?^ *```$)", re.M | re.S)
KINDS = {".h": "c", ".c": "c", ".cpp": "cpp", ".cu": "cuda", ".py": "python", ".json": "json", ".txt": "cmake"}
ZOO = ROOT / "build/zoo/zoo.html"  # where `make zoo` has run
VIEWER = ROOT / "build/site-viewer"  # viewer.html, empty, and example.html, with the traces of the tutorial
# What becomes a file in assets/.
ASSETS = {"heddle.css": "tools/site/heddle.css", "icon.svg": "src/view/web/icon.svg", "iframe-worker.js": "tools/site/node_modules/iframe-worker/shim/index.js"}


def outside(page, link):
    """The file that a link of a page leads to, if it is one of this tree outside of docs/."""
    target = Path(os.path.normpath(page.parent / link))
    return target if ROOT in target.parents and DOCS not in [target, *target.parents] and target.exists() else None


def uri_of(path):
    """Where the page of a file of the tree is."""
    if DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    name = "source/" + path.relative_to(ROOT).as_posix()
    return name if path.suffix == ".md" else f"{name}/README.md" if path.is_dir() else f"{name}.md"


def links(path, text):
    """The pages' sources that a page links to."""
    return {outside(path, link[2]) for part in FENCE.split(text)[::2] for link in LINK.finditer(part)} - {None}


def fence(text, kind=""):
    return f"~~~~~~{kind}\n{text.rstrip()}\n~~~~~~\n"


def notebook(path):
    """A notebook as Markdown: its texts, code, and what the code printed."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        yield text if cell["cell_type"] == "markdown" else fence(text, "python")
        for output in cell.get("outputs", ()):
            shown = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
            if shown:
                yield fence(shown)


def markdown_of(path):
    """The text of a page, written for the place of the file."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    head = f"# {path.relative_to(ROOT)}\n\n"
    if path.suffix == ".json":
        head = "---\nsearch: {exclude: true}\n---\n\n" + head
    if path.is_dir():
        return head + "".join(f"- [{file.name}]({file.name})\n" for file in sorted(path.iterdir()) if file.is_file() and file.name != "meson.build")
    if path.suffix == ".ipynb":
        return "\n\n".join(notebook(path))
    return head + fence(path.read_text(encoding="utf-8"), KINDS.get(path.suffix, ""))


def base_of(path):
    """The path that links of a file's page are relative to."""
    return path / "README.md" if path.is_dir() else path


def relink(path, text):
    """The same text with links to pages, in the place of links to files."""
    here = posixpath.dirname(uri_of(path))

    def to_page(link):
        target = Path(os.path.normpath(base_of(path).parent / link[2]))
        if not target.exists() or (DOCS in path.parents and DOCS in target.parents and target.is_file()):
            return link[0]
        uri = uri_of(target) if target != DOCS else "README.md"
        if DOCS in target.parents and target.is_dir():
            uri += "/README.md"
        return link[1] + posixpath.relpath(uri, here or ".") + link[3]

    return "".join(part if index % 2 else LINK.sub(to_page, part) for index, part in enumerate(FENCE.split(text)))


SOURCE_OF = {}  # by the place of a page, the file that it shows


def on_config(config):
    """Navigation: the lines of docs/README.md, one tab each, and below a folder's index its other pages."""
    nav = [{"Home": "README.md"}]
    for title, line in re.findall(r"^\*\*(.*?)\*\*:((?:.+\n?)+)", (DOCS / "README.md").read_text(encoding="utf-8"), re.M):
        items = []
        for name, link in re.findall(r"\[([^\]]+)\]\(([^)#]+)\)", line.replace("\n", " ")):
            uri = uri_of(Path(os.path.normpath(DOCS / link)))
            name = name.replace("`", "")
            name = name[0].upper() + name[1:]
            folder = Path(os.path.normpath(DOCS / link.removesuffix("/README.md"))).with_suffix("")
            pages = sorted(page.relative_to(DOCS).as_posix() for page in folder.glob("*.md") if page.name != "README.md" and folder.parent == DOCS)
            items.append({name: [uri, *pages]} if pages else {name: uri})
        nav.append({title: items})
    config["nav"] = nav
    config["mdx_configs"]["toc"]["slugify"] = lambda text, _: re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    return config


def on_files(files, config):
    for name, path in ASSETS.items():
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(ROOT / path)))
    for page in sorted(VIEWER.glob("*.html")):
        files.append(File.generated(config, page.name, abs_src_path=str(page)))
    if ZOO.exists():
        files.append(File.generated(config, "zoo-cells.html", abs_src_path=str(ZOO)))
    todo = sorted(DOCS.rglob("*.md"))
    seen = set(todo)
    while todo:
        path = todo.pop()
        text = markdown_of(path)
        SOURCE_OF[uri_of(path)] = path
        if DOCS not in path.parents:
            files.append(File.generated(config, uri_of(path), content=text))
        new = links(base_of(path), text) - seen
        seen |= new
        todo += sorted(new)
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "reference/zoo-results.md" and ZOO.exists():
        markdown += '\n<a href="zoo-cells.html">Every cell on one page</a>, with what differs.\n'
    if page.file.src_uri == "README.md" and VIEWER.exists():
        markdown += ('\n**Try it here**: <a href="viewer.html">the viewer</a>, which reads a trace that you drop on it in this browser and sends it '
                     'nowhere; <a href="example.html">the same with four ranks of a job</a>, those of the tutorial.\n')
    return relink(SOURCE_OF[page.file.src_uri], markdown)
