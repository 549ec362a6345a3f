"""The page around an HTML report: one file, no script, no network."""

from __future__ import annotations

from collections.abc import Sequence

from looseleaf.report.blocks import Block
from looseleaf.report.figures.markup import Markup, tag
from looseleaf.report.plain import printable

__all__ = ["block_section", "page", "section", "table"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Nothing is fetched and nothing runs, whatever a model or a document has written."""

STYLE = """
:root{--ink:#1c2430;--muted:#55606e;--line:#d4d9e0;--soft:#f4f6f8;--accent:#005a8f;--warn:#8a4b00;--warnbg:#fff6e6}
*{box-sizing:border-box}
body{margin:0 auto;max-width:64rem;padding:2rem 1.25rem 4rem;color:var(--ink);background:#fff;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",Arial,sans-serif}
h1{font-size:1.75rem;line-height:1.2;margin:.2rem 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1rem;margin:1.4rem 0 .4rem}
p,li{max-width:46rem}
.lead{color:var(--muted);margin:0 0 1rem;overflow-wrap:anywhere}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem .9rem;font-size:.9rem}
a{color:var(--accent)}
.notices{background:var(--warnbg);border-left:4px solid var(--warn);padding:.6rem 1rem;margin:1rem 0}
.notices h2{border:0;margin:0;padding:0;font-size:1rem}
.notices ul{margin:.3rem 0;padding-left:1.1rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10rem,1fr));gap:.8rem;margin:1.2rem 0}
.tile{border:1px solid var(--line);border-radius:8px;padding:.7rem .9rem}
.tile b{display:block;font-size:1.6rem;line-height:1.2;font-variant-numeric:tabular-nums}
.tile span{display:block;color:var(--muted);font-size:.82rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;margin:.4rem 0 .8rem;min-width:50%}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;
font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left}
td.words,th.words{text-align:left;overflow-wrap:anywhere}
thead th{border-bottom:2px solid var(--ink);font-weight:600}
tbody th{font-weight:400}
figure{margin:.6rem 0}
svg{max-width:100%;height:auto;display:block;font-family:inherit}
svg.key{width:14px;height:14px;display:inline-block;vertical-align:-2px;margin-right:.35rem}
.mosaic{max-width:35rem}
.legend{list-style:none;padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;gap:.25rem 1.2rem;font-size:.88rem}
.swatch{display:inline-block;width:.9rem;height:.9rem;margin-right:.4rem;vertical-align:-2px;border:1px solid #0004}
.small{font-size:.85rem;color:var(--muted)}
@media print{body{max-width:none;padding:0;font-size:11pt}nav{display:none}
h2,h3{break-after:avoid}figure,tr,.tile{break-inside:avoid}
.notices,.swatch,svg{-webkit-print-color-adjust:exact;print-color-adjust:exact}a{color:inherit}}
"""


INTERVAL = "interval"
"""End of the names of columns that are left out where they are empty: too few documents give no interval."""


def page(title: str, parts: Sequence[Markup | None]) -> str:
    """The whole document."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", printable(title)),
        tag("style", Markup(STYLE)),
    )
    body = tag("body", tag("main", *parts))
    return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"


def section(title: str, *parts: Markup | None, name: str | None = None) -> Markup | None:
    """A titled part; nothing where all of it is missing."""
    if not any(parts):
        return None
    return tag("section", tag("h2", printable(title)), *parts, id=name)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], words: Sequence[int] = ()) -> Markup | None:
    """A table whose first column holds labels; `None` without rows. Empty columns of intervals are left out.

    Args:
        head: column names.
        rows: cells, shown as text.
        words: numbers of further columns that hold words and are set to the left.
    """
    if not rows:
        return None
    shown = [
        place
        for place in range(len(head))
        if place == 0 or any(str(row[place]) for row in rows) or not head[place].endswith(INTERVAL)
    ]
    words = [new for new, place in enumerate(shown) if place in words]
    head, rows = [head[place] for place in shown], [[row[place] for place in shown] for row in rows]

    def cell(name: str, place: int, content: object) -> Markup:
        kind = "words" if place in words else None
        scope = "col" if name == "th" else None
        return tag(name, printable(str(content)), class_=kind, scope=scope)

    header = tag("tr", *(cell("th", place, content) for place, content in enumerate(head)))
    body = [
        tag(
            "tr",
            *(
                tag("th", printable(str(content)), scope="row") if place == 0 else cell("td", place, content)
                for place, content in enumerate(row)
            ),
        )
        for row in rows
    ]
    whole = tag("table", tag("thead", header), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex="0", role="group", aria_label="table")


def block_section(block: Block) -> Markup | None:
    """A printed block as a part of the page."""
    if not block.rows and not block.sentences:
        return None
    sentences = [tag("li", printable(sentence)) for sentence in block.sentences]
    return tag(
        "div",
        tag("h3", printable(block.title)) if block.title else None,
        table(block.head, block.rows),
        tag("ul", *sentences, class_="notices" if block.warning else "small") if sentences else None,
    )
