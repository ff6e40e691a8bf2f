"""Pieces of HTML: whatever is not markup itself is escaped here."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from variegate.evaluation.reproduction.claims import Status, Verdict

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
