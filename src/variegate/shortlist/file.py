"""The cells of a shortlist as a file: one npz of plain arrays, with a JSON header among them."""

import json
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.files import stored_arrays, written_whole
from variegate.shortlist.cells import Partition

FORMAT: Final = "variegate shortlist"
VERSION: Final = 1


def write_partition(path: str | Path, partition: Partition, features: FloatArray) -> None:
    """Write the cells of items with these features to `path`, whole or not at all."""
    header = {"format": FORMAT, "version": VERSION, "items": _described(features)}
    with written_whole(path) as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
            centres=partition.centres,
            spreads=partition.spreads,
            leaders=partition.leaders,
            cell_of=partition.cell_of,
        )


def read_partition(path: str | Path, features: FloatArray) -> Partition:
    """Read what `write_partition` wrote for items with these features, or raise DataError."""
    with stored_arrays(path, "shortlist") as arrays:
        header = json.loads(arrays["header"].tobytes())
        if header.get("format") != FORMAT:
            raise DataError(f"{path}: not a shortlist of variegate")
        if header.get("version") != VERSION:
            raise DataError(
                f"{path}: version {header.get('version')} of the shortlist format, and this "
                f"variegate reads version {VERSION}: build it anew"
            )
        if header["items"] != _described(features):
            raise DataError(f"{path}: the cells of another catalogue: build them anew for this one")
        partition = Partition(
            arrays["centres"],
            arrays["spreads"],
            arrays["leaders"].astype(np.intp),
            arrays["cell_of"].astype(np.intp),
        )
    _check_partition(path, partition, features)
    return partition


def _described(features: FloatArray) -> dict[str, int]:
    """What tells a catalogue's features from another's: their number and a checksum."""
    items, d = features.shape
    little = np.ascontiguousarray(features, dtype="<f8")
    return {"items": items, "d": d, "checksum": crc32(little.data)}


def _check_partition(path: str | Path, partition: Partition, features: FloatArray) -> None:
    cells, (items, d) = len(partition.centres), features.shape
    shapes = [array.shape for array in vars(partition).values()]
    numbers_fit = (
        np.isfinite(partition.centres).all()
        and np.isfinite(partition.spreads).all()
        and _within(partition.leaders, items)
        and _within(partition.cell_of, cells)
    )
    if shapes != [(cells, d), (cells,), (cells,), (items,)] or not numbers_fit:
        raise DataError(f"{path}: not a whole shortlist file: its arrays do not fit one another")


def _within(numbers: np.ndarray, end: int) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
