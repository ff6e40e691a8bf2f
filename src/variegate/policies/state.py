"""What one user's policy has learnt, as data that can be stored anywhere."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import StateError
from variegate.model.ridge import LARGEST_SUM

#: Increased when older states can no longer be read.
STATE_VERSION: Final = 1
_MAGIC: Final = b"vgst"
_NUMBER: Final = np.dtype("<f8")


@dataclass(frozen=True, eq=False)
class State:
    """The sums behind one policy: its name, a format version, and arrays by name.

    `to_bytes` takes 8 bytes per number and a few for the names: for LMDH, with p = d + m, that
    is 4 p (p + 1) + 8 p + 54 bytes; 670 for d = 10 and m = 1.
    """

    policy: str
    arrays: Mapping[str, FloatArray]
    version: int = STATE_VERSION

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the state as bytes: little-endian, the same on every machine."""
        parts = [_head(self.version, self.policy, len(self.arrays))]
        for name, array in self.arrays.items():
            parts += [
                _head_of_array(name, array.shape),
                array.astype(_NUMBER, copy=False).tobytes(),
            ]
        return b"".join(parts)

    def check(self) -> None:
        """Raise StateError unless all numbers are finite and at most `LARGEST_SUM` in size."""
        for name, array in self.arrays.items():
            numbers = np.asarray(array, dtype=np.float64)
            # Nearly all states pass, as one product shows; a comparison with nan is false.
            if np.vdot(numbers, numbers) <= LARGEST_SUM:
                continue
            sizes = np.abs(numbers)
            if not (sizes <= LARGEST_SUM).all():
                wrong = numbers[~(sizes <= LARGEST_SUM)][0]
                raise StateError(
                    f"`state` must hold finite numbers of at most {LARGEST_SUM:g} in size, "
                    f"got {wrong:g} in {name!r}"
                )

    @classmethod
    def from_bytes(cls, data: bytes) -> "State":
        """Read what `to_bytes` wrote, or raise StateError; the numbers are checked."""
        if data[:4] != _MAGIC:
            raise StateError(f"not a state of variegate: it starts with {data[:4]!r}")
        try:
            (version,) = struct.unpack_from("<H", data, 4)
            if version != STATE_VERSION:
                return cls("?", {}, version)  # `restore` raises the error
            policy, at = _read_short(data, 6)
            count, at = data[at], at + 1
            arrays = {}
            for _ in range(count):
                name, at = _read_short(data, at)
                arrays[name], at = _read_array(data, at)
        except (struct.error, IndexError, OverflowError, ValueError):
            raise StateError(f"a state cut off after {len(data)} bytes") from None
        if at != len(data):
            raise StateError(f"a state of {at} bytes, got {len(data)}: changed after writing")
        state = cls(policy, arrays, version)
        state.check()
        return state


# A service writes millions of states with a few shapes.
@lru_cache(maxsize=256)
def _head(version: int, policy: str, arrays: int) -> bytes:
    return _MAGIC + struct.pack("<H", version) + _short(policy) + struct.pack("<B", arrays)


@lru_cache(maxsize=1024)
def _head_of_array(name: str, shape: tuple[int, ...]) -> bytes:
    return _short(name) + struct.pack(f"<B{len(shape)}I", len(shape), *shape)


def _short(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<B", len(raw)) + raw


def _read_short(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return data[at + 1 : end].decode(), end


def _read_array(data: bytes, at: int) -> tuple[FloatArray, int]:
    ndim = data[at]
    shape = struct.unpack_from(f"<{ndim}I", data, at + 1)
    at += 1 + 4 * ndim
    count = prod(shape)
    array = np.frombuffer(data, dtype="<f8", count=count, offset=at).reshape(shape)
    return array.astype(np.float64), at + 8 * count


def check_item_rows(name: str, rows: FloatArray, items: int) -> None:
    """Raise StateError unless an array of a state holds rows of a catalogue."""
    is_row = (rows == np.floor(rows)) & (rows >= 0) & (rows < items)
    if not is_row.all():
        raise StateError(f"`{name}` must have rows from 0 to {items - 1}, got {rows[~is_row][0]:g}")


def check_interval(name: str, values: FloatArray, high: float = 1.0) -> None:
    """Raise StateError unless the values of a state lie from 0 to `high`."""
    is_inside = (values >= 0.0) & (values <= high)
    if not is_inside.all():
        outside = values[~is_inside][0]
        raise StateError(f"`{name}` must have numbers from 0 to {high:g}, got {outside:g}")
