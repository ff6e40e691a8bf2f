"""Your own vectors: read from the files that NumPy writes, and made into a catalogue."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from variegate.arrays import FloatArray, check_choice
from variegate.data.embeddings import Embeddings, make_embeddings, normalise_vectors
from variegate.data.table_reader import as_utf8
from variegate.errors import DataError, InputError
from variegate.files import BROKEN, check_declared, open_npz, read_file
from variegate.model.catalogue import Catalogue
from variegate.model.distances import angular, cosine, euclidean
from variegate.model.scores import SCORE

#: Principal components that become features by default.
COMPONENTS: Final = 16
#: More features make lists and states too slow and large: a state has about d^2 / 2 numbers.
MAX_FEATURES: Final = 128
_DISTANCES: Final = {"cosine": cosine, "angular": angular, "euclidean": euclidean}


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


def vector_catalogue(
    embeddings: Embeddings,
    *,
    features: str = f"pca:{COMPONENTS}",
    distances: Sequence[str] = ("cosine",),
    titles: Sequence[str] | None = None,
    attributes: Mapping[str, Sequence[Any]] | None = None,
) -> Catalogue:
    """Return a catalogue of items with vectors.

    Parameters
    ----------
    embeddings
        Vectors with their ids; see `make_embeddings`.
    features
        What is learnt from: ``pca:N``, the first N principal components of the vectors (the
        vectors themselves, if they have no more numbers than that); ``all``, each number of a
        vector, at most 128; ``none``, nothing but the scores of requests, as feature ``score``.
    distances
        "cosine", "angular" or "euclidean", on all of each vector.
    titles, attributes
        As for `Catalogue`.

    Examples
    --------
    >>> from variegate.data import make_embeddings
    >>> vectors = np.random.default_rng(0).normal(size=(40, 768))
    >>> vector_catalogue(make_embeddings(range(40), vectors))
    Catalogue(40 items, 16 features, distances: cosine)
    """
    vectors = embeddings.vectors
    for name in distances:
        check_choice("distances", name, _DISTANCES)
    count = _number_of_features(features, vectors.shape[1])
    given: dict[str, Any] = {
        "features": vectors,
        "distances": distances,
        "mean_user": embeddings.mean_user,
        "feature_scale": embeddings.scale,
    }
    if count < vectors.shape[1]:
        given["distances"] = [_DISTANCES[name](vectors) for name in distances]
        given |= _few_features(embeddings, count)
    return Catalogue(embeddings.item_ids, titles=titles, attributes=attributes, **given)


def _few_features(embeddings: Embeddings, count: int) -> dict[str, Any]:
    """Return the arguments of a catalogue with `count` principal components, or with scores."""
    if not count:
        return {
            "features": np.zeros((len(embeddings.item_ids), 1)),
            "feature_names": (SCORE,),
            "mean_user": None,
            "feature_scale": 1.0,
        }
    columns, directions = _components(embeddings.vectors, count)
    columns, scale = normalise_vectors(columns)
    mean_user = embeddings.mean_user
    return {
        "features": columns,
        "mean_user": None if mean_user is None else directions @ mean_user,
        "feature_scale": scale * embeddings.scale,
    }


def _number_of_features(features: str, width: int) -> int:
    """Return how many features vectors of a width get, or raise InputError."""
    kind, _colon, text = features.partition(":")
    if features == "none":
        return 0
    if features == "all":
        if width > MAX_FEATURES:
            size = 8 * width * (width + 3) / 2 / 1e6
            raise InputError(
                f"`features` must not be 'all' for vectors of {width} numbers: what each user "
                f"learns would take {size:.1f} MB, and a list seconds. At most {MAX_FEATURES} can "
                "be features. 'pca:16' learns from 16 principal components, 'none' from the scores "
                "of requests alone, and distances use all numbers in any case"
            )
        return width
    count = int(text) if kind == "pca" and text.isdecimal() else 0
    if not 1 <= count <= MAX_FEATURES:
        raise InputError(
            f"`features` must be 'none', 'all' or 'pca:N' with N from 1 to {MAX_FEATURES}, got "
            f"{features!r}"
        )
    return min(count, width)


def _components(vectors: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the first principal components, (n, count), and their directions, (count, w)."""
    centred = vectors - vectors.mean(axis=0)
    # Of w x w numbers, which are few however many items there are. Largest values come last.
    _values, found = np.linalg.eigh(centred.T @ centred)
    directions = found[:, : -count - 1 : -1].T
    # A direction and its opposite are the same component: the largest number is positive.
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(count), largest])[:, None]
    return centred @ directions.T, directions
