"""A file of exported lines, read a line at a time, with errors that say where they come from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from variegate.engine.lines import MAX_COST, Line, parse_line
from variegate.errors import ConflictError, DataError, InputError, NotFoundError, StateError


class RawLine(NamedTuple):
    """A line that is not empty: its number from 1, its bytes, and where they begin and end."""

    number: int
    raw: bytes
    start: int
    end: int


class Entry(NamedTuple):
    """The lines of one user, or one line of another kind: where they begin and end."""

    name: str
    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file of lines.

    Parameters
    ----------
    place
        What a message has before a line's number.
    max_cost
        Bytes that one parsed line may take, about.
    """

    path: str
    place: str = "line "
    max_cost: int = MAX_COST

    def raw_lines(self, entry: Entry | None = None) -> Iterator[RawLine]:
        """Give the lines of an entry, or all lines."""
        number, start = (entry.number, entry.start) if entry else (1, 0)
        longest = self.max_cost // 3
        try:
            with open(self.path, "rb") as file:
                file.seek(start)
                while entry is None or start < entry.end:
                    raw = file.readline(longest + 1)
                    if not raw:
                        break
                    if len(raw) > longest:
                        raise DataError(f"{self.place}{number}: must have at most {longest} bytes")
                    if raw.strip():
                        yield RawLine(number, raw, start, start + len(raw))
                    number, start = number + 1, start + len(raw)
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None

    def lines(self, entry: Entry) -> Iterator[tuple[int, Line]]:
        """Give the lines of an entry, parsed, with their numbers."""
        for number, raw, _start, _end in self.raw_lines(entry):
            with self.located(number):
                line = parse_line(raw, self.max_cost)
            yield number, line

    @contextmanager
    def located(self, number: int) -> Iterator[None]:
        """Let an error that is raised inside say which line it is about."""
        try:
            yield
        except ConflictError as error:
            raise ConflictError(f"{self.place}{number}: {error}") from None
        except (DataError, InputError, NotFoundError, StateError) as error:
            raise DataError(f"{self.place}{number}: {error}") from None
