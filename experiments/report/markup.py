"""Pieces of HTML: whatever is not markup itself is escaped here."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from experiments.claims import Claim, Status, Verdict
from experiments.figures import Picture
from experiments.report.style import CSS
from experiments.table import Cell, Table

_CLASSES: Final = {
    Status.HOLDS: "holds",
    Status.IN_PART: "part",
    Status.FAILS: "fails",
    Status.NOT_MEASURED: "open",
}


def badge(status: Status, count: int | None = None) -> str:
    """Return a verdict in words and colour, or how many there are of it."""
    words = status.value if count is None else f"{count} {_PLURALS.get(status, status.value)}"
    return f'<span class="verdict {_CLASSES[status]}">{escape(words)}</span>'


_PLURALS: Final = {
    Status.HOLDS: "hold",
    Status.IN_PART: "hold in part",
    Status.FAILS: "do not hold",
}


def evidence_list(verdict: Verdict) -> str:
    """Return the parts of a verdict, each with its own where they differ."""
    differ = len({part.status for part in verdict.evidence}) > 1
    items = "".join(
        f"<li>{badge(part.status) if differ else ''}<b>{escape(part.where)}:</b> "
        f"{escape(part.finding)}</li>"
        for part in verdict.evidence
    )
    return f"<ul>{items}</ul>"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    kind: str = "numbers",
    ours: int | None = None,
) -> str:
    """Return a table whose cells are HTML already, and whose heads and caption are text.

    `kind` is its class; in "numbers" all but the first column stand to the right. `ours` is
    the number of the row to set off from the others.
    """
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    body = "".join(
        ('<tr class="ours">' if number == ours else "<tr>")
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
        for number, cells in enumerate(rows)
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="scroll"><table class="{kind}">{told}<thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def section(anchor: str, title: str, *parts: str) -> str:
    """Return a section with its heading."""
    return f'<section id="{anchor}"><h2>{escape(title)}</h2>{"".join(parts)}</section>'


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def claims_table(head: str, claims: Mapping[Claim, Verdict]) -> str:
    """Return claims with their verdicts and what was measured."""
    rows = [
        (
            f"{escape(claim.says)}<br><small>{escape(claim.place)}. Judged by: "
            f"{escape(claim.rule)}.</small>",
            badge(verdict.status),
            evidence_list(verdict),
        )
        for claim, verdict in claims.items()
    ]
    return table((head, "Verdict", "Measured"), rows, kind="claims")


def figure(picture: Picture, folder: Path) -> str:
    """Return a figure with its caption, read from `folder` and put inside the page."""
    drawn = b64encode((folder / f"{picture.name}.svg").read_bytes()).decode()
    title, caption = escape(picture.title), escape(picture.caption)
    return (
        f'<figure id="{picture.name}"><img alt="{title}" '
        f'src="data:image/svg+xml;base64,{drawn}">'
        f"<figcaption><b>{title}.</b> {caption}</figcaption></figure>"
    )


def number_table(found: Table, *, heading: bool = False) -> str:
    """Return a table of numbers, under its title if `heading`."""
    rows = [(escape(name), *map(_cell, cells)) for name, cells in found.rows]
    title = f"<h3>{escape(found.title)}</h3>" if heading else ""
    return title + table(found.heads, rows, caption=found.note, ours=found.ours)


def whole_page(title: str, body: str) -> str:
    """Return an HTML document that needs nothing else."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{CSS}</style></head><body>{body}</body></html>\n"
    )


def _cell(cell: Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    return f"{text} <small>± {escape(cell.error)}</small>" if cell.error else text
