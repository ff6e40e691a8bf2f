"""Embeddings as a file: one npz of plain arrays, and a JSON header among them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray
from variegate.errors import DataError
from variegate.files import stored_arrays, written_whole

FORMAT: Final = "variegate embeddings"
VERSION: Final = 1


def write_embeddings(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, FloatArray]
) -> None:
    """Write the arrays and the header to `path`, whole or not at all."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False)
    with written_whole(path) as file:
        np.savez(
            file, allow_pickle=False, header=np.frombuffer(text.encode(), dtype=np.uint8), **arrays
        )


def read_embeddings(path: str | Path) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Read what `write_embeddings` wrote, or raise DataError with the path."""
    with stored_arrays(path, "embeddings") as stored:
        arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop("header").tobytes())
        is_ours = header.get("format") == FORMAT
        version = header.get("version")
    if not is_ours:
        raise DataError(f"{path}: not embeddings of variegate")
    if version != VERSION:
        raise DataError(
            f"{path}: version {version} of the embeddings format, and this variegate reads "
            f"version {VERSION}: train them anew or use the variegate that wrote them"
        )
    return header, arrays
