"""A prior as a file: one npz of plain arrays, and a JSON header among them."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.files import atomic_write, open_npz

FORMAT: Final = "variegate prior"
VERSION: Final = 1


def packed_prior(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> bytes:
    """Return the header and the arrays as the bytes of a file."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    file = io.BytesIO()
    np.savez(
        file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays
    )
    return file.getvalue()


def unpacked_prior(
    data: bytes, where: str | Path
) -> tuple[Mapping[str, Any], Mapping[str, FloatArray]]:
    """Return what `packed_prior` packed, or raise DataError with `where` it came from."""
    with open_npz(data, "prior", where) as stored:
        arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        is_ours, version = header.get("format") == FORMAT, header.get("version")
    if not is_ours:
        raise DataError(f"{where}: not a prior of variegate")
    if version != VERSION:
        raise DataError(
            f"{where}: version {version} of the prior format, and this variegate reads version "
            f"{VERSION}: fit it anew or use the variegate that wrote it"
        )
    return header, arrays


def write_whole(path: str | Path, data: bytes) -> None:
    """Write `data` to `path`, whole or not at all."""
    with atomic_write(path) as file:
        file.write(data)


def read_whole(path: str | Path) -> bytes:
    """Return all of the file at `path`, or raise DataError."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"no prior at {path}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
