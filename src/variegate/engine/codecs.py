"""How slates, seen items and ids are stored and checked, and how messages show a value."""

import os
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError, StateError
from variegate.model.slate import Slate
from variegate.schemas import MAX_ID_LENGTH
from variegate.store import EventRow, SlateRow

#: Slate format 1: every number is stored. Written by earlier versions.
_FULL: Final = 1
#: Slate format 2: of z, which is mostly zeros, only the non-zero numbers are stored.
_SPARSE: Final = 2
#: The format, the length, and the numbers of features, distances and topics.
_SIZES: Final = struct.Struct("<BxHIII")
#: Made once: NumPy looks up a dtype that is given by name for each array.
_ROW, _NUMBER = np.dtype("<i8"), np.dtype("<f8")
#: Crockford's base 32: no I, L, O or U, so that an id can be read aloud.
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: Two digits for each value of ten bits.
_PAIRS: Final = [high + low for high in _DIGITS for low in _DIGITS]

_WORD: Final = np.dtype("<u4")
#: Bytes of a seen item: its row in the catalogue, and a second since 1970.
_ENTRY: Final = 8
_NO_ROWS: Final = np.empty(0, dtype=np.intp)

#: The kind of an event in the log that is not about a slate
INTERACTION: Final = "interaction"

_ALLOWED_ID: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")
#: Characters of a value that a message shows.
_SHOWN: Final = 80
#: Pydantic's types of errors for what is no object.
_OBJECT_ERRORS: Final = ("model_type", "model_attributes_type", "dataclass_type", "dict_type")
_JSON_WORDS: Final = {None: "null", True: "true", False: "false"}
#: What pydantic adds to a field's location for a union of types.
_TYPE_NAME: Final = re.compile(r"constrained-\w+|(list|dict|nullable|function-\w+)\[.*\]")


def pack_slate(slate: Slate) -> bytes:
    """Return the rows, scores and features of a slate: the sizes, then one part after another.

    The last part is z: one bit per number, set where it is not zero, then the non-zero numbers.
    """
    sizes = slate.relevance.shape[1], slate.diversity.shape[1], slate.coverage.shape[1]
    parts = slate.scores, slate.diversity, slate.coverage
    raw = [_to_bytes(part, _NUMBER) for part in parts if part.size]
    head = _SIZES.pack(_SPARSE, len(slate), *sizes)
    z = np.ascontiguousarray(slate.relevance, _NUMBER).ravel()
    is_stored = z.view(_ROW) != 0  # by the bits, so that -0.0 stays -0.0
    bits, numbers = np.packbits(is_stored).tobytes(), z[is_stored].tobytes()
    return b"".join([head, _to_bytes(slate.items, _ROW), *raw, bits, numbers])


def unpack_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    return _unpack(row.features, row.items, f"slate {row.id!r}")


def interaction_slate(event: EventRow) -> Slate:
    """Return the items of an interaction as a slate, with the features that they had."""
    items = tuple(event.body["rewards"])
    return _unpack(b64decode(event.body["features"]), items, f"interaction {event.seq}")


def interaction_features(slate: Slate) -> str:
    """Return the text from which `interaction_slate` makes a slate of items alone again."""
    return b64encode(pack_slate(slate)).decode()


def _unpack(raw: bytes, ids: tuple[str, ...], name: str) -> Slate:
    if len(raw) < _SIZES.size or raw[0] not in (_FULL, _SPARSE):
        raise StateError(f"{name} has a format that this version does not read")
    _, k, d, m, c = _SIZES.unpack_from(raw)
    if d == m == c == 0:
        raise StateError(f"{name} has an item that was removed, and no features")
    is_full = raw[0] == _FULL
    scores = _SIZES.size + 8 * k
    z = scores + 8 * k if is_full else scores + 8 * k * (1 + m + c)
    x = z + 8 * k * d if is_full else scores + 8 * k
    end = x + 8 * k * (m + c) if is_full else _sparse_end(raw, z, k * d)
    if len(raw) != end:
        raise StateError(f"{name} is damaged: it has {len(raw)} bytes, not {end}")
    items: IndexArray = np.ndarray((k,), _ROW, raw, _SIZES.size)
    return Slate(
        items if items.dtype == np.intp else items.astype(np.intp),
        ids,
        np.ndarray((k, d), _NUMBER, raw, z) if is_full else _unpack_sparse(raw, z, k, d),
        np.ndarray((k, m), _NUMBER, raw, x),
        np.ndarray((k,), _NUMBER, raw, scores),
        np.ndarray((k, c), _NUMBER, raw, x + 8 * k * m) if c else np.zeros((k, 0)),
    )


def has_features(row: SlateRow) -> bool:
    """Return whether a policy can learn from a slate: it cannot if an item of it was removed."""
    return any(_SIZES.unpack_from(row.features)[2:])


def slate_rows(row: SlateRow) -> IndexArray:
    """Return the catalogue rows of a slate's items, -1 for removed ones, without its features."""
    return _rows(row.features)


def interaction_rows(event: EventRow) -> IndexArray:
    """Return the catalogue rows of an interaction's items, -1 for removed ones."""
    return _rows(b64decode(event.body["features"]))


def _rows(raw: bytes) -> IndexArray:
    return np.frombuffer(raw, _ROW, _SIZES.unpack_from(raw)[1], _SIZES.size).astype(np.intp)


def _to_bytes(part: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    return (part if part.dtype == dtype else part.astype(dtype)).tobytes()


def _sparse_end(raw: bytes, start: int, size: int) -> int:
    bits = raw[start : start + -(-size // 8)]
    return start + len(bits) + 8 * int.from_bytes(bits).bit_count()


def _unpack_sparse(raw: bytes, start: int, k: int, d: int) -> FloatArray:
    bits = np.frombuffer(raw, np.uint8, -(-k * d // 8), start)
    z = np.zeros(k * d)
    is_stored = np.unpackbits(bits, count=k * d).view(np.bool_)
    z[is_stored] = np.frombuffer(raw, _NUMBER, offset=start + len(bits))
    return z.reshape(k, d)


def new_slate_id(now: float, number: int) -> str:
    """Return an id of 26 digits that sorts by time and cannot be guessed.

    `number` orders the ids of one moment.
    """
    # What `secrets` does too, past its layers.
    random = int.from_bytes(os.urandom(8))
    bits = int(now * 1000) << 80 | (number & 0xFFFF) << 64 | random
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


class SeenItems:
    """The items that a user was shown: rows and times, in the order of the last showing.

    Parameters
    ----------
    raw
        What `to_bytes` returned; empty for a new user.
    """

    def __init__(self, raw: bytes = b"") -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw) // _ENTRY

    def rows(self, since: float) -> IndexArray:
        """Return the rows shown after `since` (seconds since 1970), oldest first."""
        raw = self._raw
        if not raw:
            return _NO_ROWS
        words = np.frombuffer(raw, _WORD)
        rows: IndexArray = words[::2].astype(np.intp)
        if int.from_bytes(raw[4:_ENTRY], "little") <= since:  # the oldest is first
            rows = rows[words[1::2] > since]
        return rows

    def entries(self) -> list[tuple[int, int]]:
        """Return each row with the second at which it was last shown."""
        return [(row, second) for row, second in self._table().tolist()]

    def add(
        self, rows: IndexArray, now: float, max_items: int, *, are_new: bool = False
    ) -> tuple["SeenItems", list[tuple[int, int]]]:
        """Return the seen items after one more slate, and the entries that it displaced.

        Those are the earlier entries of its rows, and the oldest beyond `max_items`.

        Parameters
        ----------
        are_new
            Whether none of the rows is among the seen items, which saves searching for them.
        """
        kept, second = self if are_new else self.without(rows), int(now)
        displaced = [] if are_new else self._entries_of(rows)
        pairs = [number for row in rows.tolist() for number in (row, second)]
        raw = kept._raw + struct.pack(f"<{len(pairs)}I", *pairs)
        extra = len(raw) - _ENTRY * max_items
        if extra <= 0:
            return SeenItems(raw), displaced
        return SeenItems(raw[extra:]), displaced + SeenItems(kept._raw[:extra]).entries()

    def remove(self, rows: IndexArray, displaced: list[tuple[int, int]]) -> "SeenItems":
        """Return the seen items before a slate of these rows, which displaced these entries."""
        kept = self.without(rows)
        if not displaced:
            return kept
        known = {row for row, _second in kept.entries()}
        returning = [entry for entry in displaced if entry[0] not in known]
        # Of one second, the displaced entries come first: they were the older ones.
        both = sorted(returning + kept.entries(), key=lambda entry: entry[1])
        return SeenItems.from_entries(both)

    def without(self, rows: IndexArray) -> "SeenItems":
        """Return the seen items without these rows."""
        table = self._table()
        return SeenItems(table[~np.isin(table[:, 0], rows)].tobytes())

    def to_bytes(self) -> bytes:
        """Return 8 bytes per row."""
        return self._raw

    @classmethod
    def from_entries(cls, entries: list[tuple[int, int]]) -> "SeenItems":
        """Return the seen items with these `entries`."""
        return cls(np.array(entries, dtype=_WORD).tobytes())

    def _table(self) -> NDArray[np.uint32]:
        return np.frombuffer(self._raw, dtype=_WORD).reshape(-1, 2)

    def _entries_of(self, rows: IndexArray) -> list[tuple[int, int]]:
        table = self._table()
        return [(row, second) for row, second in table[np.isin(table[:, 0], rows)].tolist()]


def hidden_rows(shown: IndexArray, used: IndexArray) -> IndexArray:
    """Return the rows that are not repeated: shown, or used outside lists.

    The oldest of those shown come first, and those used come last: `without_seen` lets items
    return in this order.
    """
    return np.concatenate([shown[~np.isin(shown, used)], used]) if len(used) else shown


def check_id(name: str, text: object) -> str:
    """Return an id that can be stored and addressed in a URL, or raise InputError.

    This is the one rule for requests, imports and catalogues.

    Parameters
    ----------
    name
        What the message calls the id.

    Examples
    --------
    >>> check_id("user", "a/b")
    'a/b'
    """
    if not isinstance(text, str) or not _ALLOWED_ID.fullmatch(text):
        raise InputError(
            f"`{name}` must be text of 1 to {MAX_ID_LENGTH} characters without control "
            f"characters, got {format_value(text)}"
        )
    return text


def format_value(value: object) -> str:
    """Return a value as a message shows it: on one line, shortened.

    Examples
    --------
    >>> format_value("twelve"), format_value({"a": 1}), format_value("x" * 200)[-6:]
    ("'twelve'", 'an object', "xx...'")
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str | bytes) and len(value) > _SHOWN:
        text = repr(value[: _SHOWN - 3])
        return replace_surrogates(f"{text[:-1]}...{text[-1]}")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_SHOWN:
        return "a number of more than 80 digits"  # formatting it could take seconds
    text = _JSON_WORDS[value] if value is None or isinstance(value, bool) else repr(value)
    return replace_surrogates(text if len(text) <= 2 * _SHOWN else text[: 2 * _SHOWN] + "...")


def validation_messages(problems: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the errors of pydantic as messages, one per field, each with the field's name.

    The first part of each problem's location is where the fields are, such as "body".
    """
    return [message for _, message in validation_errors(problems)]


def validation_errors(problems: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the name of each invalid field with its message; see `validation_messages`."""
    return [
        (name.strip("`"), validation_message(name, _most_specific(of_field)))
        for name, of_field in _by_field(problems).items()
    ]


def _by_field(problems: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the problems by the field that they are about; a union has one for each type."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for problem in problems:
        found.setdefault(_field_name(problem["loc"]), []).append(problem)
    return found


def _most_specific(problems: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the first problem of a field; for a union of types, that of the type that was sent."""
    return next((one for one in problems if not one["type"].endswith("_type")), problems[0])


def _field_name(location: Sequence[object]) -> str:
    names = [str(part)[:80] for part in location[1:] if not _TYPE_NAME.fullmatch(str(part))]
    if names:
        return f"`{'.'.join(names)}`"
    return f"the {location[0]}" if location else "the request"


def validation_message(name: str, problem: Mapping[str, Any]) -> str:
    """Return an error of pydantic about the field `name`, with its value."""
    kind, text = problem["type"], str(problem["msg"]).removeprefix("Value error, ")
    if kind == "missing":
        return f"{name} is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{name} is not a known field"
    if kind == "value_error":
        return text if text.startswith("`") else f"{name}: {text}"
    if kind in _OBJECT_ERRORS:
        text = "must be an object"
    if kind in ("too_short", "too_long"):
        rule = text.partition(" should ")[2].replace(" after validation, not", ", got")
        return f"{name} must {rule}"
    text = re.sub(r"^\w+ should ", "must ", text.partition(", unable to")[0])
    return f"{name} {text[:1].lower()}{text[1:]}, got {format_value(problem.get('input'))}"


def replace_surrogates(text: str) -> str:
    """Return the text with escapes in place of what UTF-8 cannot encode, such as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
