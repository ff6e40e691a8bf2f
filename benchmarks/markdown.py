"""Numbers and tables as the page writes them."""

from collections.abc import Iterable, Sequence

from benchmarks.results import Comparison


def duration(seconds: float) -> str:
    """Return seconds with three digits, in the unit that suits them.

    Examples
    --------
    >>> duration(0.0000853), duration(0.001293), duration(3.4)
    ('85.3 µs', '1.29 ms', '3.40 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{three_digits(seconds / size)} {unit}"
    raise AssertionError


def three_digits(number: float) -> str:
    """Return a number with three digits, or all of them where there are more before the point.

    Examples
    --------
    >>> three_digits(3.14159), three_digits(31.4159), three_digits(31415.9)
    ('3.14', '31.4', '31,416')
    """
    if abs(number) >= 100.0:
        return f"{number:,.0f}"
    return f"{number:.1f}" if abs(number) >= 10.0 else f"{number:.2f}"


def times(row: Comparison) -> str:
    """Return how many times as fast the package is, with the spread."""
    low, high = three_digits(row.low), three_digits(row.high)
    return f"**{three_digits(row.ratio)}×** ({low} to {high})"


def size(number: float) -> str:
    """Return bytes in the unit that suits them.

    Examples
    --------
    >>> size(670), size(1_660_000)
    ('670 bytes', '1.66 MB')
    """
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= 10.0 * scale or (number >= scale and unit != "kB"):
            return f"{three_digits(number / scale)} {unit}"
    return f"{number:,.0f} bytes"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """Return the lines of a table; the columns after the first `left` hold numbers."""
    marks = ["---" if column < left else "---:" for column in range(len(header))]
    lines = [header, marks, *rows]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]
