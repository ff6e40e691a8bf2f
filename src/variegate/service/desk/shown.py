"""What a user was shown, so that it is not shown again: rows and times in few bytes."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray

#: A row of the catalogue and a second since 1970.
_ENTRY: Final = np.dtype([("row", "<u4"), ("time", "<u4")])


class Shown:
    """Rows in the order they were last shown, oldest first.

    Parameters
    ----------
    entries
        What `to_bytes` gave; nothing for a new user.
    """

    def __init__(self, entries: bytes = b"") -> None:
        self._entries: NDArray[np.void] = np.frombuffer(entries, dtype=_ENTRY)

    def rows(self, since: float) -> IndexArray:
        """Return the rows shown after `since` (seconds since 1970), oldest first."""
        recent = self._entries[self._entries["time"] > since]
        rows: IndexArray = recent["row"].astype(np.intp)
        return rows

    def times(self) -> list[tuple[int, int]]:
        """Return each row with the second at which it was last shown."""
        return [(int(row), int(second)) for row, second in self._entries.tolist()]

    def with_list(self, rows: IndexArray, now: float, most: int) -> "Shown":
        """Return what is remembered after one more list: each row once, at most `most`."""
        added = np.empty(len(rows), dtype=_ENTRY)
        added["row"], added["time"] = rows, int(now)
        if not most:
            return Shown()
        known = self._entries["row"]
        repeated = np.zeros(max(known.max(initial=0), rows.max(initial=0)) + 1, dtype=np.bool_)
        repeated[rows] = True
        kept = self._entries[~repeated[known]]
        return _of(np.concatenate([kept, added])[-most:])

    def with_new(self, rows: IndexArray, now: float, most: int) -> "Shown":
        """Return the same for rows of which none is remembered; the time is most of them."""
        second = int(now)
        added = struct.pack(
            f"<{2 * len(rows)}I", *(n for row in rows.tolist() for n in (row, second))
        )
        return Shown((self.to_bytes() + added)[-8 * most :]) if most else Shown()

    def without(self, rows: IndexArray) -> "Shown":
        """Return the same as if these rows had never been shown."""
        return _of(self._entries[~np.isin(self._entries["row"], rows)])

    def to_bytes(self) -> bytes:
        """Return 8 bytes a row."""
        return self._entries.tobytes()

    @classmethod
    def of_times(cls, times: list[tuple[int, int]]) -> "Shown":
        """Return what `times` gave."""
        return _of(np.array(times, dtype=_ENTRY))


def _of(entries: NDArray[np.void]) -> Shown:
    return Shown(entries.tobytes())
