"""Pieces of Markdown."""

from collections.abc import Iterable, Mapping, Sequence

from experiments.claims import Claim, Status, Verdict
from experiments.figures import Picture
from experiments.table import Cell, Table


def claims_table(head: str, claims: Mapping[Claim, Verdict]) -> str:
    """Return claims with their verdicts and what was measured."""
    rows = [
        (
            f"{claim.says} ({claim.place})",
            f"**{verdict.status}**",
            _evidence(verdict),
        )
        for claim, verdict in claims.items()
    ]
    return rows_table((head, "verdict", "measured"), rows)


def _evidence(verdict: Verdict) -> str:
    """The parts of a verdict, each with its own where they differ."""
    measured = [part for part in verdict.evidence if part.status is not Status.NOT_MEASURED]
    differ = len({part.status for part in measured}) > 1
    return "<br>".join(
        f"{part.where}: {part.finding}"
        + (f" (*{part.status}*)" if differ and part in measured else "")
        for part in verdict.evidence
    )


def figure(picture: Picture, folder: str) -> str:
    """Return a figure with its caption; `folder` is where it stands, seen from the page."""
    place = f"{folder}/{picture.name}.png"
    return f"![{picture.title}]({place})\n\n**{picture.title}.** {picture.caption}"


def number_table(found: Table) -> str:
    """Return a table of numbers under its title."""
    rows = [(name, *map(_cell, cells)) for name, cells in found.rows]
    note = f"\n\n{found.note}" if found.note else ""
    return f"{found.title}:\n\n{rows_table(found.heads, rows, numbers=True)}{note}"


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} ± {cell.error}" if cell.error else text


def rows_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False
) -> str:
    """Return a table; with `numbers`, all but its first column stand to the right."""
    rule = ["---", *("---:" if numbers else "---" for _ in heads[1:])]
    # A bar inside a cell would end it.
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
