"""What a user was shown, so that it is not shown again: rows and times in few bytes."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import IndexArray

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
