"""A slate as bytes: what a list taught with when it was shown, to the last digit."""

import re
import secrets
import struct
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, IndexArray
from variegate.errors import InputError, StateError
from variegate.model.slate import Slate
from variegate.schemas import MAX_ID_LENGTH
from variegate.store import SlateRow

#: All numbers, one after another: what was written before, and is read for ever.
_FULL: Final = 1
#: Of z, which is mostly labels, only what is not zero.
_SPARSE: Final = 2
#: The format, the length, and how many features, distances and topics there are.
_SIZES: Final = struct.Struct("<BxHIII")
#: Crockford's digits: no I, L, O or U, so that an id can be read aloud.
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
#: Two at a time, by their ten bits
_PAIRS: Final = [high + low for high in _DIGITS for low in _DIGITS]
#: Made once: a type that is given by its name is looked up for each array.
_ROW, _NUMBER = np.dtype("<i8"), np.dtype("<f8")


def packed_slate(slate: Slate) -> bytes:
    """Return the rows, scores and features of a slate: sizes first, then one part after another.

    Last comes z: a bit for each of its numbers, whether it is there, then those that are.
    """
    sizes = slate.relevance.shape[1], slate.diversity.shape[1], slate.coverage.shape[1]
    parts = slate.scores, slate.diversity, slate.coverage
    raw = [_bytes_of(part, _NUMBER) for part in parts if part.size]
    head = _SIZES.pack(_SPARSE, len(slate), *sizes)
    z = np.ascontiguousarray(slate.relevance, _NUMBER).ravel()
    there = z.view(_ROW) != 0  # by the bits: -0.0 shall come back as it was
    marks, numbers = np.packbits(there).tobytes(), z[there].tobytes()
    return b"".join([head, _bytes_of(slate.items, _ROW), *raw, marks, numbers])


def _bytes_of(part: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    return (part if part.dtype == dtype else part.astype(dtype)).tobytes()


def unpacked_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    raw = row.features
    if len(raw) < _SIZES.size or raw[0] not in (_FULL, _SPARSE):
        raise StateError(f"slate {row.id!r} is kept in a form that this variegate does not read")
    _, k, d, m, c = _SIZES.unpack_from(raw)
    if d == m == c == 0:
        raise StateError(f"slate {row.id!r} holds an item that is gone, and has no features left")
    is_full = raw[0] == _FULL
    # What stands where, in the order in which it was written.
    scores = _SIZES.size + 8 * k
    z = scores + 8 * k if is_full else scores + 8 * k * (1 + m + c)
    x = z + 8 * k * d if is_full else scores + 8 * k
    end = x + 8 * k * (m + c) if is_full else _end_of_sparse(raw, z, k * d)
    if len(raw) != end:
        raise StateError(f"slate {row.id!r} is not as it was written: {len(raw)} bytes")
    items: IndexArray = np.ndarray((k,), _ROW, raw, _SIZES.size)
    return Slate(
        items if items.dtype == np.intp else items.astype(np.intp),
        row.items,
        np.ndarray((k, d), _NUMBER, raw, z) if is_full else _of_sparse(raw, z, k, d),
        np.ndarray((k, m), _NUMBER, raw, x),
        np.ndarray((k,), _NUMBER, raw, scores),
        np.ndarray((k, c), _NUMBER, raw, x + 8 * k * m) if c else np.zeros((k, 0)),
    )


def has_features(row: SlateRow) -> bool:
    """Return whether a list can teach; see `new_catalogue`."""
    return any(_SIZES.unpack_from(row.features)[2:])


def rows_of(row: SlateRow) -> IndexArray:
    """Return the rows of a list's items, also where its features are gone; -1 for no row."""
    k = _SIZES.unpack_from(row.features)[1]
    return np.frombuffer(row.features, _ROW, k, _SIZES.size).astype(np.intp)


def _end_of_sparse(raw: bytes, start: int, size: int) -> int:
    marks = raw[start : start + -(-size // 8)]
    return start + len(marks) + 8 * int.from_bytes(marks).bit_count()


def _of_sparse(raw: bytes, start: int, k: int, d: int) -> FloatArray:
    marks = np.frombuffer(raw, np.uint8, -(-k * d // 8), start)
    z = np.zeros(k * d)
    there = np.unpackbits(marks, count=k * d).view(np.bool_)
    z[there] = np.frombuffer(raw, _NUMBER, offset=start + len(marks))
    return z.reshape(k, d)


def new_slate_id(now: float, number: int) -> str:
    """Return an id of 26 digits that sorts by time and that nobody can guess.

    `number` sorts those of one moment.
    """
    bits = int(now * 1000) << 80 | (number & 0xFFFF) << 64 | secrets.randbits(64)
    return _written(bits)


def _written(bits: int) -> str:
    return "".join([_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


def current_time() -> float:
    """Return seconds since 1970."""
    return time.time()


_WORD: Final = np.dtype("<u4")
#: Bytes of a row of the catalogue and a second since 1970.
_ENTRY: Final = 8


class SeenItems:
    """Rows in the order they were last shown, oldest first.

    Parameters
    ----------
    entries
        What `to_bytes` gave; nothing for a new user.
    """

    def __init__(self, entries: bytes = b"") -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries) // _ENTRY

    def rows(self, since: float) -> IndexArray:
        """Return the rows shown after `since` (seconds since 1970), oldest first."""
        if not self._entries:
            return np.empty(0, dtype=np.intp)
        words = np.frombuffer(self._entries, _WORD)
        rows: IndexArray = words[::2].astype(np.intp)
        if words[1] <= since:  # the oldest stands first
            rows = rows[words[1::2] > since]
        return rows

    def times(self) -> list[tuple[int, int]]:
        """Return each row with the second at which it was last shown."""
        return [(row, second) for row, second in self._table().tolist()]

    def with_list(self, rows: IndexArray, now: float, most: int) -> "SeenItems":
        """Return what is remembered after one more list: each row once, at most `most`."""
        return self.after(rows, now, most)[0]

    def after(
        self, rows: IndexArray, now: float, most: int, *, are_new: bool = False
    ) -> tuple["SeenItems", list[tuple[int, int]]]:
        """Return what is remembered after one more list, and the entries that this displaced.

        Those are the earlier ones of its rows, and the oldest where there are more than `most`.

        Parameters
        ----------
        are_new
            Whether none of the rows is remembered, as most often none is: then none is looked for.
        """
        kept, second = self if are_new else self.without(rows), int(now)
        displaced = [] if are_new else self._only(rows)
        pairs = [number for row in rows.tolist() for number in (row, second)]
        entries = kept._entries + struct.pack(f"<{len(pairs)}I", *pairs)
        extra = len(entries) - _ENTRY * most
        if extra <= 0:
            return SeenItems(entries), displaced
        return SeenItems(entries[extra:]), displaced + SeenItems(kept._entries[:extra]).times()

    def before(self, rows: IndexArray, displaced: list[tuple[int, int]]) -> "SeenItems":
        """Return what was remembered before a list of these rows, which displaced these entries."""
        kept = self.without(rows)
        if not displaced:
            return kept
        known = {row for row, _second in kept.times()}
        returning = [entry for entry in displaced if entry[0] not in known]
        # Of one second, those that were displaced come first: they were the older ones.
        return SeenItems.of_times(sorted(returning + kept.times(), key=lambda entry: entry[1]))

    def without(self, rows: IndexArray) -> "SeenItems":
        """Return the same without any entry of these rows."""
        table = self._table()
        return SeenItems(table[~np.isin(table[:, 0], rows)].tobytes())

    def to_bytes(self) -> bytes:
        """Return 8 bytes a row."""
        return self._entries

    @classmethod
    def of_times(cls, times: list[tuple[int, int]]) -> "SeenItems":
        """Return what `times` gave."""
        return cls(np.array(times, dtype=_WORD).tobytes())

    def _table(self) -> NDArray[np.uint32]:
        return np.frombuffer(self._entries, dtype=_WORD).reshape(-1, 2)

    def _only(self, rows: IndexArray) -> list[tuple[int, int]]:
        table = self._table()
        return [(row, second) for row, second in table[np.isin(table[:, 0], rows)].tolist()]


_MOST: Final = 80


def shown(value: object) -> str:
    """Return how a message shows what came: never more than a line of it.

    Examples
    --------
    >>> shown("twelve"), shown({"a": 1}), shown("x" * 200)[-6:]
    ("'twelve'", 'an object', "xx...'")
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str | bytes) and len(value) > _MOST:
        text = repr(value[: _MOST - 3])
        return sendable(f"{text[:-1]}...{text[-1]}")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_MOST:
        return "a number of more than 80 digits"  # its text could take longer than the request
    text = "null" if value is None else repr(value)
    return sendable(text if len(text) <= 2 * _MOST else text[: 2 * _MOST] + "...")


def sendable(text: str) -> str:
    """Return the text without what UTF-8 cannot say, such as half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_ALLOWED: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")


def check_id(name: str, text: object) -> str:
    """Return an id that the service can keep and address, or raise InputError.

    Parameters
    ----------
    name
        What to call the id in the message.

    Examples
    --------
    >>> check_id("user", "a/b")
    'a/b'
    """
    if not isinstance(text, str) or not _ALLOWED.fullmatch(text):
        raise InputError(
            f"`{name}` must be text of 1 to {MAX_ID_LENGTH} characters without control characters, "
            f"got {shown(text)}"
        )
    return text
