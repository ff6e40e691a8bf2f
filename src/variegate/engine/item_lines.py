"""Items from the lines of a file, JSON or CSV: each is a request, or what is wrong with it."""

import csv
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from variegate.engine.codecs import replace_surrogates, validation_messages
from variegate.engine.item_data import attribute_kinds
from variegate.errors import InputError, join_problems
from variegate.files import csv_records
from variegate.model.catalogue import Catalogue
from variegate.schemas import MAX_ID_LENGTH, NewItem

#: Bytes of one line, at most.
MAX_LINE_BYTES: Final = 1_000_000
#: Values of an attribute that its kind is inferred from.
_SAMPLE: Final = 1000
_BOOLEANS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class ItemLine(NamedTuple):
    """An item of a file."""

    #: The line of the file, from 1
    number: int
    #: As `UpsertItems` takes it; None if the line is invalid
    request: Mapping[str, Any] | None
    #: What is wrong
    problem: str = ""
    #: The id of an item that is invalid, if it can be read
    invalid_id: str | None = None

    @property
    def id(self) -> str | None:
        """The item's id, if it can be read."""
        return self.invalid_id if self.request is None else str(self.request["id"])


@dataclass(frozen=True)
class CsvColumns:
    """How the columns of a CSV file are read; all others are attributes of that name."""

    id: str = "id"
    title: str | None = None
    #: Between two columns
    separator: str = ","
    #: Between two labels of a list
    list_separator: str = "|"

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator in '"\r\n':
            raise InputError(f"`separator` must be one character, got {self.separator!r}")
        if not self.list_separator:
            raise InputError("`list_separator` must be text, got ''")


class JsonLines:
    """The lines of a file with one item of JSON each; blank lines are skipped."""

    #: Columns that are no attribute
    ignored: tuple[str, ...] = ()

    def __init__(self, path: str) -> None:
        self._path = path

    def __iter__(self) -> Iterator[ItemLine]:
        with open(self._path, "rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if number == 1:
                    line = line.removeprefix(BOM_UTF8)
                if len(line) > MAX_LINE_BYTES:
                    while not line.endswith(b"\n") and (line := file.readline(MAX_LINE_BYTES)):
                        pass
                    yield ItemLine(number, None, f"must have at most {MAX_LINE_BYTES} bytes")
                elif not line.isspace():
                    yield _json_line(number, line)


class CsvLines:
    """The lines of a CSV file with a header.

    Numbers and lists are recognised by what the catalogue has under the name of the column. An
    empty value is unknown. The column ``retired`` holds true or false, unless it is an attribute.

    Raises InputError for a header without the column of ids.
    """

    def __init__(self, path: str, columns: CsvColumns, catalogue: Catalogue) -> None:
        self._path, self._columns = path, columns
        try:
            with self._open() as file:
                header: list[str] = next(self._reader(file), [])
        except csv.Error as error:
            raise InputError(f"line 1: the header must be a line of CSV: {error}") from None
        self._names = [name.strip() for name in header]
        _check_header(self._names, columns)
        kinds = attribute_kinds(catalogue)
        self._kinds = {
            name: min(kinds[name]) if name in kinds else _inferred_kind(catalogue.attributes[name])
            for name in self._names
            if name in catalogue.attributes and name not in (columns.id, columns.title)
        }
        special = {columns.id, columns.title, "retired", *self._kinds}
        #: Columns that are no attribute
        self.ignored = tuple(name for name in self._names if name not in special)

    def __iter__(self) -> Iterator[ItemLine]:
        with self._open() as file:
            reader = self._reader(file)
            next(reader)
            for number, fields in csv_records(reader):
                if isinstance(fields, csv.Error):
                    yield ItemLine(number, None, f"not a line of CSV: {fields}")
                else:
                    yield self._line(number, fields)

    def _open(self) -> Any:
        # Bytes that are not UTF-8 are found line by line.
        return open(self._path, encoding="utf-8-sig", errors="surrogateescape", newline="")

    def _reader(self, file: Any) -> Any:
        return csv.reader(file, delimiter=self._columns.separator, strict=True)

    def _line(self, number: int, fields: Sequence[str]) -> ItemLine:
        if len(fields) != len(self._names):
            return ItemLine(number, None, f"must have {len(self._names)} fields, got {len(fields)}")
        values = dict(zip(self._names, map(str.strip, fields), strict=True))
        attributes: dict[str, Any] = {}
        problems: list[str] = []
        for name, kind in self._kinds.items():
            try:
                attributes[name] = self._value(name, kind, values[name])
            except InputError as error:
                problems.append(str(error))
        content: dict[str, Any] = {"id": values[self._columns.id], "attributes": attributes}
        if self._columns.title is not None and values[self._columns.title]:
            content["title"] = values[self._columns.title]
        if values.get("retired") and "retired" not in self._kinds:
            content["retired"] = _BOOLEANS.get(values["retired"].lower(), values["retired"])
        try:
            request = NewItem.model_validate(content).model_dump(exclude_unset=True)
        except ValidationError as error:
            problems += _problems(error)
        if problems:
            return ItemLine(
                number, None, join_problems(problems), _readable(values[self._columns.id])
            )
        return ItemLine(number, request)

    def _value(self, name: str, kind: str, text: str) -> Any:
        if kind == "list":
            labels = (label.strip() for label in text.split(self._columns.list_separator))
            return list(dict.fromkeys(label for label in labels if label))
        if not text or kind != "number":
            return text or None
        try:
            number = float(text.replace("_", "?"))  # Python's separators of digits are no number
        except ValueError:
            number = float("nan")
        if not isfinite(number):
            raise InputError(f"`attributes.{name}` must be a number, got {text[:60]!r}")
        return int(text) if text.lstrip("-").isdecimal() else number


def _json_line(number: int, line: bytes) -> ItemLine:
    try:
        return ItemLine(number, NewItem.model_validate_json(line).model_dump(exclude_unset=True))
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            return ItemLine(number, None, "the line must be JSON")
        content = from_json(line)
        item = content.get("id") if isinstance(content, dict) else None
        return ItemLine(number, None, join_problems(_problems(error)), _readable(item))


def _readable(item: Any) -> str | None:
    """Return what a report can show of an id."""
    return replace_surrogates(item[:MAX_ID_LENGTH]) if isinstance(item, str) and item else None


def _problems(error: ValidationError) -> list[str]:
    """Return what is wrong with each field."""
    found = error.errors(include_url=False)
    return validation_messages([{**one, "loc": ("line", *one["loc"])} for one in found])


def _check_header(names: Sequence[str], columns: CsvColumns) -> None:
    wanted = {"id": columns.id, "title": columns.title}
    for column, count in Counter(names).items():
        if column and count > 1:
            raise InputError(f"column {column!r} is there {count} times")
    for option, name in wanted.items():
        if name is None or name in names:
            continue
        near = get_close_matches(name, names, n=1, cutoff=0.5)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise InputError(
            f"no column {name!r} of {option}s among {', '.join(map(repr, names[:20])) or 'none'}"
            f"{hint}"
        )


def _inferred_kind(values: Sequence[Any]) -> str:
    """Return the kind of an attribute that no feature or distance is made from."""
    known = [value for value in values[:_SAMPLE] if value is not None]
    if any(isinstance(value, (list, tuple, set, frozenset)) for value in known):
        return "list"
    is_number = [isinstance(value, (int, float)) for value in known]
    return "number" if known and all(is_number) else "text"
