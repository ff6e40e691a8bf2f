"""What a user was shown, so that it is not shown again: rows and times in few bytes."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray

_WORD: Final = np.dtype("<u4")
#: Bytes of a row of the catalogue and a second since 1970.
_ENTRY: Final = 8


class Shown:
    """Rows in the order they were last shown, oldest first.

    Parameters
    ----------
    entries
        What `to_bytes` gave; nothing for a new user.
    """

    def __init__(self, entries: bytes = b"") -> None:
        self._entries = entries

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

    def with_list(self, rows: IndexArray, now: float, most: int) -> "Shown":
        """Return what is remembered after one more list: each row once, at most `most`."""
        return self.without(rows).with_new(rows, now, most)

    def with_new(self, rows: IndexArray, now: float, most: int) -> "Shown":
        """Return the same for rows of which none is remembered, as most often none is."""
        second = int(now)
        pairs = [number for row in rows.tolist() for number in (row, second)]
        added = struct.pack(f"<{len(pairs)}I", *pairs)
        return Shown((self._entries + added)[-_ENTRY * most :]) if most else Shown()

    def without(self, rows: IndexArray) -> "Shown":
        """Return the same as if these rows had never been shown."""
        table = self._table()
        return Shown(table[~np.isin(table[:, 0], rows)].tobytes())

    def to_bytes(self) -> bytes:
        """Return 8 bytes a row."""
        return self._entries

    @classmethod
    def of_times(cls, times: list[tuple[int, int]]) -> "Shown":
        """Return what `times` gave."""
        return cls(np.array(times, dtype=_WORD).tobytes())

    def _table(self) -> NDArray[np.uint32]:
        return np.frombuffer(self._entries, dtype=_WORD).reshape(-1, 2)
