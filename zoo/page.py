"""The table of verdicts as Markdown, JSON and an HTML page."""
import html
import json

import judge
import zoo

SHORT = {judge.RIGHT: "✓", judge.SAID: "partial, flagged", judge.REFUSED: "refused", judge.WRONG: "wrong", judge.LOST: "lost", judge.CRASHED: "crashed", judge.NOT_CLAIMED: "–"}
COLUMNS = {judge.RIGHT: "right", judge.SAID: "less, and says so", judge.REFUSED: "refused", judge.WRONG: "wrong", judge.LOST: "lost silently", judge.CRASHED: "crashed", judge.NOT_CLAIMED: "not claimed"}


def count(result, tool, question=None):
    out = dict.fromkeys(judge.VERDICTS, 0)
    for row in result["cells"][tool].values():
        for q, cell in row.items():
            out[cell["verdict"]] += question in (None, q)
    return out


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(str(c) for c in row) + " |" for row in rows)]) + "\n"


def summary(result):
    """A row for each tool."""
    rows = []
    for tool in result["tools"]:
        counts = count(result, tool["name"])
        rows.append([tool["title"], tool["version"], *(counts[v] for v in judge.VERDICTS)])
    return table(["tool", "version", *COLUMNS.values()], rows)


def by_question(result):
    """right / wrong, lost or crashed / refused or less, of those that the tool claims."""
    rows = []
    for question in zoo.QUESTIONS:
        row = [question.replace("_", " ")]
        for tool in result["tools"]:
            c = count(result, tool["name"], question)
            bad = sum(c[v] for v in judge.BAD)
            row.append(f"{c[judge.RIGHT]} / {bad} / {c[judge.SAID] + c[judge.REFUSED]}" if sum(c.values()) > c[judge.NOT_CLAIMED] else "–")
        rows.append(row)
    return table(["question", *(t["title"] for t in result["tools"])], rows)


def cell_text(row):
    """One cell of the large table: only what is not right, by question."""
    claimed = {q: c for q, c in row.items() if c["verdict"] != judge.NOT_CLAIMED}
    if not claimed:
        return "–"
    if all(c["verdict"] == judge.RIGHT for c in claimed.values()):
        return "✓"
    return "; ".join(f"{q.replace('_', ' ')} {SHORT[c['verdict']]}" for q, c in claimed.items() if c["verdict"] != judge.RIGHT)


def markdown(result, docs="docs/zoo.md"):
    out = ["# The zoo: results", "",
           f"Made by `make zoo`. {docs} says what the questions and the verdicts mean. A cell is reproduced by `zoo/run.py --trace TRACE --tool TOOL`.", "", summary(result)]
    if result["missing"]:
        out += ["Skipped: " + "; ".join(f"{name} ({why})" for name, why in result["missing"].items()) + ".", ""]
    out += ["How each was run: " + "; ".join(f"{t['title']}: {t['documented']}" for t in result["tools"]) + ".", "", "## By question", "",
            "right / wrong, lost or crashed / refused or partial and flagged", "", by_question(result), "## By trace", "",
            "✓: all that the tool claims is right. –: it claims nothing of this format. What else there is, is named.", ""]
    for family in dict.fromkeys(t["family"] for t in result["traces"].values()):
        names = [n for n, t in result["traces"].items() if t["family"] == family]
        out += [f"### {family}", "", table(["trace", "what", *(t["title"] for t in result["tools"])],
                                           [[f"`{n}`", result["traces"][n]["about"].replace("|", "\\|"), *(cell_text(result["cells"][t["name"]][n]) for t in result["tools"])] for n in names])]
    return "\n".join(out)


STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:110rem;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #c8c8d0;padding:.25rem .5rem;text-align:left;vertical-align:top;font-size:13px}
th{position:sticky;top:0;background:#f2f2f6}.right{background:#e3f4e1}.bad{background:#fbdcd9}.said{background:#fdf3d0}.none{color:#777}
@media(prefers-color-scheme:dark){body{background:#17171b;color:#e6e6ea}th{background:#26262c}td,th{border-color:#44444c}.right{background:#17351b}.bad{background:#4a1f1c}.said{background:#443a12}}"""


def kind(verdict):
    return "right" if verdict == judge.RIGHT else "bad" if verdict in judge.BAD else "none" if verdict == judge.NOT_CLAIMED else "said"


def page(result):
    esc = html.escape
    head = "".join(f"<th>{esc(t['title'])}</th>" for t in result["tools"])
    out = [f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><title>The trace zoo</title><style>{STYLE}</style><h1>What trace tools make of the same traces</h1>",
           "<p>Each tool is run as its documentation says, with the same questions about small traces whose truth is known. A cell names the verdict of each question; hover over it for what differs. "
           "Heddle's documentation, page “zoo”, says how truth is defined and how a cell is reproduced.</p><table><tr><th>tool<th>version<th>run by" + "".join(f"<th>{esc(c)}" for c in COLUMNS.values())]
    for t in result["tools"]:
        counts = count(result, t["name"])
        out.append(f"<tr><td>{esc(t['title'])}<td>{esc(t['version'])}<td>{esc(t['documented'])}" + "".join(f"<td>{counts[v]}" for v in judge.VERDICTS))
    out.append("</table>")
    if result["missing"]:
        out.append("<p>Skipped: " + esc("; ".join(f"{n} ({w})" for n, w in result["missing"].items())) + "</p>")
    out.append(f"<table><tr><th>trace<th>what{head}")
    for name, trace in result["traces"].items():
        out.append(f"<tr><td><code>{esc(name)}</code><td>{esc(trace['about'])}")
        for t in result["tools"]:
            row = {q: c for q, c in result["cells"][t["name"]][name].items() if c["verdict"] != judge.NOT_CLAIMED}
            worst = next((kind(v) for v in (judge.CRASHED, judge.WRONG, judge.LOST, judge.REFUSED, judge.SAID, judge.RIGHT) if any(c["verdict"] == v for c in row.values())), "none")
            texts = "<br>".join(f"<span title='{esc(c['detail'] or '', True)}'>{esc(q.replace('_', ' '))}: {esc(SHORT[c['verdict']])}</span>" for q, c in row.items()) or "–"
            out.append(f"<td class={worst}>{texts}")
    return "\n".join(out) + "</table></html>\n"


def write(result, folder, docs=None):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zoo.json").write_text(json.dumps(result, indent=1, default=float) + "\n", encoding="utf-8")
    (folder / "zoo.md").write_text(markdown(result), encoding="utf-8")
    if docs:
        docs.write_text(markdown(result, "[The zoo](zoo.md)"), encoding="utf-8")
    (folder / "zoo.html").write_text(page(result), encoding="utf-8")
