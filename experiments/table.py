"""A table of a report as text, for the page and for Markdown alike."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A number as text, perhaps with its standard error; the best of its column stands out."""

    text: str
    error: str = ""
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""
    #: The row of our own method
    ours: int | None = None
