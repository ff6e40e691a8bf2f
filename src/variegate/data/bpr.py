"""Item embeddings by Bayesian personalised ranking (BPR), trained with cornac."""

import hashlib
import json
import operator
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from variegate.arrays import (
    FloatArray,
    IndexArray,
    check_choice,
    check_not_negative,
    check_positive,
)
from variegate.data.dataset import Dataset
from variegate.data.embeddings import NORMALISATIONS, Embeddings, normalise_vectors
from variegate.errors import DataError, InputError, MissingExtraError


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct liked pairs, sorted by user and item; every user and item has at least one."""

    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    users: IndexArray
    items: IndexArray

    @property
    def digest(self) -> str:
        """A digest of the ids and pairs."""
        content = hashlib.sha256(json.dumps([self.user_ids, self.item_ids]).encode())
        for rows in (self.users, self.items):
            content.update(rows.astype("<i8").tobytes())
        return content.hexdigest()


def pairs_of(dataset: Dataset) -> Pairs:
    """Return the dataset's pairs, renumbered so that every user and item has one."""
    if not len(dataset):
        raise InputError("`dataset` must have at least one liked pair, got none")
    width = len(dataset.item_ids)
    # One number per pair sorts many times faster than two.
    distinct = np.unique(dataset.users.astype(np.int64) * width + dataset.items)
    user_rows, users = np.unique(distinct // width, return_inverse=True)
    item_rows, items = np.unique(distinct % width, return_inverse=True)
    if len(distinct) == len(user_rows) * len(item_rows):
        raise InputError(
            "`dataset` must have items that some user did not like, got "
            f"{len(user_rows)} users who liked each of {len(item_rows)} items: nothing to compare"
        )
    return Pairs(
        tuple(dataset.user_ids[row] for row in user_rows),
        tuple(dataset.item_ids[row] for row in item_rows),
        users,
        items,
    )


def cache_folder() -> Path:
    """Return the folder of cached embeddings: `VARIEGATE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("VARIEGATE_CACHE")
    if chosen:
        return Path(chosen)
    try:
        from platformdirs import user_cache_path
    except ImportError:
        raise MissingExtraError(
            "the user's cache folder needs platformdirs (or set VARIEGATE_CACHE): "
            "pip install 'variegate[embeddings]'"
        ) from None
    return user_cache_path("variegate", appauthor=False)


def cached_training(
    folder: str | Path | None, settings: Mapping[str, Any], train: Callable[[], Embeddings]
) -> Embeddings:
    """Return the cached result of `train` for these settings, or train and cache it.

    `settings` must hold everything that the result depends on, including the data, and be the
    result's own. Without a folder nothing is cached. A broken file, or one of other settings, is
    replaced.
    """
    if folder is None:
        return train()
    path = _prepared(Path(folder)) / f"{settings['method']}-{_name_of(settings)}.npz"
    with suppress(DataError):
        kept = Embeddings.load(path)
        if kept.settings == settings:
            return kept
    trained = train()
    trained.save(path)
    return trained


def _name_of(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest()[:32]


def _prepared(folder: Path) -> Path:
    # Checked before training, so that no training is lost.
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be used as a cache: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise DataError(f"{folder}: cannot be used as a cache: it is not writable")
    return folder


#: The error message if cornac is missing.
INSTALL: Final = "fit_bpr needs cornac: pip install 'variegate[embeddings]'"


def fit_bpr(
    dataset: Dataset,
    *,
    d: int = 10,
    # The paper gives d alone. These rank held-out likes of *training* users of ML-100K nearly
    # as well as the best setting tried, in half its time (`python -m benchmarks.choose_bpr`).
    epochs: int = 200,
    learning_rate: float = 0.02,
    regularisation: float = 0.01,
    seed: int = 0,
    normalise: str = "global",
    progress: Callable[[int, int], None] | None = None,
    cache: str | Path | None = None,
) -> Embeddings:
    """Train item vectors such that each user's liked items rank above the others.

    There is no item bias, since it would remove popularity from the vectors. On one machine and
    with one version of cornac, the same pairs and seed give the same bits, for any number of
    threads. An item that nobody liked has no vector.

    Parameters
    ----------
    dataset
        The liked pairs. Pass only the training users' part.
    d
        The number of dimensions.
    epochs
        The number of passes; each draws as many pairs as there are.
    learning_rate, regularisation
        The step size and the L2 regularisation of stochastic gradient descent.
    seed
        An integer of at least 0.
    normalise
        How the vectors are scaled into [-1, 1], see `normalise_vectors`; `mean_user` is not scaled.
    progress
        Called as ``progress(done, epochs)`` after each epoch; not called for cached results.
    cache
        A folder for trained vectors, such as `cache_folder()`, so that the same data and settings
        are not trained again; no caching by default.
    """
    check_choice("normalise", normalise, NORMALISATIONS)
    check_positive(learning_rate=learning_rate)
    check_not_negative(regularisation=regularisation)
    pairs = pairs_of(dataset)
    settings = {
        "method": "bpr",
        "cornac": _cornac_version(),
        "data": pairs.digest,
        "d": whole_number("d", d, minimum=1),
        "epochs": whole_number("epochs", epochs, minimum=1),
        "learning_rate": float(learning_rate),
        "regularisation": float(regularisation),
        "seed": whole_number("seed", seed, minimum=0),
    }
    raw = cached_training(cache, settings, lambda: _trained(pairs, settings, progress))
    return normalised(raw, normalise)


def normalised(raw: Embeddings, how: str) -> Embeddings:
    """Return trained vectors scaled into [-1, 1]; see `normalise_vectors`."""
    vectors, scale = normalise_vectors(raw.vectors, how)
    settings = {**raw.settings, "normalise": how}
    return replace(raw, vectors=vectors, scale=scale, settings=settings)


def _trained(
    pairs: Pairs, settings: Mapping[str, Any], progress: Callable[[int, int], None] | None
) -> Embeddings:
    users, items = _factors(pairs, settings, progress)
    if not (np.isfinite(users).all() and np.isfinite(items).all()):
        raise InputError(
            "`learning_rate` must be small enough to converge, got "
            f"{settings['learning_rate']} with `regularisation` {settings['regularisation']}: the "
            "vectors diverged"
        )
    return Embeddings(pairs.item_ids, items, users.mean(axis=0), settings=settings)


def _factors(
    pairs: Pairs, settings: Mapping[str, Any], progress: Callable[[int, int], None] | None
) -> tuple[FloatArray, FloatArray]:
    bpr, data = _cornac()
    liked = (pairs.users, pairs.items, np.ones(len(pairs.users), dtype=np.float32))
    sizes = len(pairs.user_ids), len(pairs.item_ids)
    # cornac makes a vector for each id and writes to them without checking bounds, so the row
    # numbers are the ids: there cannot be too few.
    train_set = data(*sizes, *({row: row for row in range(size)} for size in sizes), liked)
    epochs = settings["epochs"]
    factors: dict[str, Any] = {}
    # cornac does not report progress, so each epoch is a separate training that starts from the
    # last one's factors. With a seed cornac uses a single thread.
    for done, seed in enumerate(np.random.SeedSequence(settings["seed"]).generate_state(epochs), 1):
        model = bpr(
            k=settings["d"],
            max_iter=1,
            learning_rate=settings["learning_rate"],
            lambda_reg=settings["regularisation"],
            use_bias=False,
            verbose=False,
            init_params=factors,
            seed=int(seed),
        ).fit(train_set)
        factors = {"U": model.u_factors, "V": model.i_factors}
        if progress is not None:
            progress(done, epochs)
    return factors["U"].astype(np.float64), factors["V"].astype(np.float64)


def _cornac_version() -> str:
    try:
        return metadata.version("cornac")
    except metadata.PackageNotFoundError:
        raise MissingExtraError(INSTALL) from None


def _cornac() -> tuple[Any, Any]:
    try:
        # Warnings of cornac's imports are not for our callers.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from cornac.data import Dataset as TrainSet
            from cornac.models import BPR
    except ImportError as error:
        raise MissingExtraError(f"{INSTALL} ({error})") from None
    return BPR, TrainSet


def whole_number(name: str, value: int, *, minimum: int) -> int:
    """Return `value` as an int of at least `minimum`, or raise InputError."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"`{name}` must be a whole number, got {value!r}") from None
    if number < minimum:
        raise InputError(f"`{name}` must be at least {minimum}, got {number}")
    return number
