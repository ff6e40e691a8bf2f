"""Vectors with their ids, from the files that NumPy writes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from variegate.data.embeddings import Embeddings, make_embeddings
from variegate.data.table_reader import as_utf8
from variegate.errors import DataError, InputError
from variegate.files import BROKEN, check_declared, open_npz, read_file


def read_vectors(file: str, ids_file: str | None, normalise: str | None) -> Embeddings:
    """Return the vectors of an .npz or .npy file, with the ids of `ids_file` if it is given.

    `normalise` is "global" if not given. Embeddings that were saved by variegate have their ids
    and are normalised, so neither may be given for them.
    """
    arrays = _arrays(file)
    if "header" in arrays:
        if ids_file is not None or normalise is not None:
            raise InputError(f"{file} has ids and is normalised: leave out --ids and --normalise")
        return Embeddings.load(file)
    _check_numbers(file, arrays)
    if ids_file is None and "ids" not in arrays:
        raise DataError(f"{file}: no array `ids`: give a file of ids, one a line, with --ids")
    ids = _as_texts(file, arrays["ids"]) if ids_file is None else _lines(ids_file)
    rows = len(arrays["vectors"]) if arrays["vectors"].ndim else 0
    if len(ids) != rows:
        raise DataError(f"{ids_file or file}: {rows} ids expected, one a vector, got {len(ids)}")
    try:
        return make_embeddings(
            ids,
            arrays["vectors"],
            normalise=normalise or "global",
            mean_user=arrays.get("mean_user"),
        )
    except InputError as error:
        raise DataError(f"{file}: {error}") from None


def _arrays(file: str) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of an .npz by name, or that of an .npy as `vectors`."""
    try:
        # np.load leaves a file open that it cannot read, unless the file is not its own.
        with Path(file).open("rb") as opened:
            if not opened.peek(6).startswith((b"PK", b"\x93NUMPY")):
                raise DataError(f"{file}: not an .npz or .npy file")
            if opened.peek(2).startswith(b"PK"):
                with open_npz(file, ".npz or .npy") as stored:
                    wanted = ("header", "ids", "vectors", "mean_user")
                    return {name: stored[name] for name in stored.files if name in wanted}
            check_declared(file, opened, Path(file).stat().st_size)
            opened.seek(0)
            return {"vectors": np.load(opened, allow_pickle=False)}
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    except (DataError, *BROKEN) as error:
        reason = " ".join(str(error).split())
        if "allow_pickle" in reason:
            raise DataError(
                f"{file}: holds Python objects: save ids as text, np.array(ids, dtype=str)"
            ) from None
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file}: not a complete .npz or .npy file: {reason}") from None


def _check_numbers(file: str, arrays: dict[str, NDArray[np.generic]]) -> None:
    if "vectors" not in arrays:
        raise DataError(f"{file}: no array `vectors`")
    for name in ("vectors", "mean_user"):
        if name in arrays and arrays[name].dtype.kind not in "biuf":
            raise DataError(f"{file}: `{name}` must hold numbers, got {arrays[name].dtype}")


def _as_texts(file: str, ids: NDArray[np.generic]) -> list[str]:
    if ids.ndim != 1 or ids.dtype.kind not in "iuUS":
        raise DataError(
            f"{file}: `ids` must be one text or whole number a vector, got {ids.dtype} "
            f"of shape {ids.shape}"
        )
    if ids.dtype.kind == "S":
        return [as_utf8(bytes(text), f"{file}: `ids`").decode() for text in ids]
    return [str(text) for text in ids]


def _lines(ids_file: str) -> list[str]:
    content, where = read_file(ids_file)
    lines = as_utf8(content, where).decode().removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise DataError(f"{where}:{number}: expected an id, got an empty line")
    return [line.strip() for line in lines]
