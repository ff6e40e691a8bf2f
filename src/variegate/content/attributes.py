"""Items' attributes as the columns that an encoder reads."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan, nan
from typing import Any, Final

import numpy as np

from variegate.content.encoder import Encoder
from variegate.datasets.items import ItemTable
from variegate.errors import InputError

#: Larger numbers cannot be squared and summed; see `Catalogue`.
_LARGEST: Final = 1e100
_NUMBERS: Final[tuple[Any, ...]] = (int, float, np.integer, np.floating)


def attribute_table(
    encoder: Encoder, ids: Sequence[str], attributes: Mapping[str, Sequence[Any]]
) -> ItemTable:
    """Return the columns of an encoder for items of which the attributes are known.

    `attributes` are columns by name. An attribute that is left out is not known of any item, and
    None is a value that is not known. A value of the wrong kind for its column is an InputError.
    """
    kinds: dict[str, dict[str, Any]] = {"number": {}, "category": {}, "list": {}, "text": {}}
    for column, name in zip(encoder.columns, encoder.attributes, strict=True):
        if name not in attributes:
            continue
        if column.column in encoder.decades:
            values: list[Any] = [decade_of(name, value) for value in attributes[name]]
        else:
            values = [READERS[column.kind](name, value) for value in attributes[name]]
        is_number = column.kind == "number"
        kinds[column.kind][column.column] = np.array(values) if is_number else tuple(values)
    ids = tuple(ids)
    return ItemTable(
        ids, ids, kinds["number"], kinds["category"], kinds["list"], texts=kinds["text"]
    )


def number_of(name: str, value: Any) -> float:
    """Return the value of a column of numbers; nan where it is not known."""
    if value is None:
        return nan
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        raise _wrong(name, "a number or null", value)
    if abs(value) > _LARGEST:
        raise _wrong(name, f"a number of at most {_LARGEST:g} in size", value)
    return float(value)


def label_of(name: str, value: Any) -> str:
    """Return the value of a column of categories; "" where it is not known."""
    if value is None:
        return ""
    if not _is_label(value):
        raise _wrong(name, "a label (text or a number) or null", value)
    return str(value)


def labels_of(name: str, value: Any) -> tuple[str, ...]:
    """Return the value of a column of lists of labels; none where they are not known."""
    if value is None:
        return ()
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(map(_is_label, value)):
        raise _wrong(name, "a list of labels or null", value)
    texts = map(str, value)
    return tuple(sorted(texts) if isinstance(value, (set, frozenset)) else texts)


def text_of(name: str, value: Any) -> str:
    """Return the value of a column of text; "" where it is not known."""
    if value is not None and not isinstance(value, str):
        raise _wrong(name, "text or null", value)
    return value or ""


def decade_of(name: str, value: Any) -> tuple[str, ...]:
    """Return the decade of a year as a list of one label, such as "1990s"; none if not known."""
    year = number_of(name, value)
    return () if isnan(year) else (f"{int(year // 10 * 10)}s",)


#: What reads an attribute's value for a column, by the kind of the column
READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "number": number_of,
    "category": label_of,
    "list": labels_of,
    "text": text_of,
}


def _is_label(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return isinstance(value, str)
    return bool(abs(value) <= _LARGEST)


def _wrong(name: str, wanted: str, value: Any) -> InputError:
    text = repr(value)
    shown = text if len(text) <= 60 else f"{text[:59]}…"
    return InputError(f"`attributes.{name}` must be {wanted}, got {shown}")
