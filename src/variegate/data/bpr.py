"""Matrix factorisation by Bayesian personalised ranking, as cornac does it."""

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
from variegate.data.embeddings import NORMALISATIONS, Embeddings, normalised
from variegate.errors import DataError, InputError, MissingExtraError

# What a matrix factorisation learns from: the users and items that occur, in one order.


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct liked pairs, by user and then by item, of users and items that have some."""

    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    users: IndexArray
    items: IndexArray

    @property
    def digest(self) -> str:
        """A name for this content: the same pairs of the same ids, the same name."""
        content = hashlib.sha256(json.dumps([self.user_ids, self.item_ids]).encode())
        for rows in (self.users, self.items):
            content.update(rows.astype("<i8").tobytes())
        return content.hexdigest()


def pairs_of(dataset: Dataset) -> Pairs:
    """Return the dataset's pairs, renumbered so that no user and no item is without one."""
    if not len(dataset):
        raise InputError("`dataset` must have at least one liked pair, got none")
    width = len(dataset.item_ids)
    # One number a pair sorts many times faster than two.
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


# Trained embeddings, kept so that the same training is not done twice.


def cache_folder() -> Path:
    """Return where trained embeddings are kept: `VARIEGATE_CACHE`, or the user's cache folder."""
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


def trained_once(
    folder: str | Path | None, settings: Mapping[str, Any], train: Callable[[], Embeddings]
) -> Embeddings:
    """Return what `train` gave for these settings before, or else what it gives now.

    `settings` must say all that the result depends on, the data too, and be the result's own.
    Without a folder nothing is kept. A file that is broken, or is not of these settings, is
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
    # Asked before the training, so that nobody waits for what cannot be kept.
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be used as a cache: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise DataError(f"{folder}: cannot be used as a cache: it may not be written to")
    return folder


#: What to do where cornac is not there.
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
    """Learn vectors of items such that each user's liked items come before the others.

    There is no item bias: it would take what makes an item popular out of its vector. On one
    machine and with one version of cornac, the same pairs and seed give the same bits, however
    many threads there are. An item that nobody liked has no vector.

    Parameters
    ----------
    dataset
        Who liked what; pairs alone are learnt from. Give the training users' part only.
    d
        The number of dimensions.
    epochs
        How often as many pairs as there are is drawn.
    learning_rate, regularisation
        The size of each step, and how strongly it pulls towards zero.
    seed
        A whole number from 0.
    normalise
        How the vectors are brought into [-1, 1], as `normalised` has it; `mean_user` stays raw.
    progress
        Called as ``progress(done, epochs)`` after each epoch; not at all if nothing is trained.
    cache
        A folder to keep what was trained, such as `cache_folder()`, so that the same data and
        settings are not trained again; nothing is kept if not given.
    """
    check_choice("normalise", normalise, NORMALISATIONS)
    check_positive(learning_rate=learning_rate)
    check_not_negative(regularisation=regularisation)
    pairs = pairs_of(dataset)
    settings = {
        "method": "bpr",
        "cornac": _cornac_version(),
        "data": pairs.digest,
        "d": _whole("d", d, least=1),
        "epochs": _whole("epochs", epochs, least=1),
        "learning_rate": float(learning_rate),
        "regularisation": float(regularisation),
        "seed": _whole("seed", seed, least=0),
    }
    raw = trained_once(cache, settings, lambda: _trained(pairs, settings, progress))
    vectors, scale = normalised(raw.vectors, normalise)
    return replace(raw, vectors=vectors, scale=scale, settings={**settings, "normalise": normalise})


def _trained(
    pairs: Pairs, settings: Mapping[str, Any], progress: Callable[[int, int], None] | None
) -> Embeddings:
    users, items = _factors(pairs, settings, progress)
    if not (np.isfinite(users).all() and np.isfinite(items).all()):
        raise InputError(
            f"`learning_rate` must be small enough to settle, got {settings['learning_rate']} with "
            f"`regularisation` {settings['regularisation']}: the vectors grew without end"
        )
    return Embeddings(pairs.item_ids, items, users.mean(axis=0), settings=settings)


def _factors(
    pairs: Pairs, settings: Mapping[str, Any], progress: Callable[[int, int], None] | None
) -> tuple[FloatArray, FloatArray]:
    bpr, data = _cornac()
    liked = (pairs.users, pairs.items, np.ones(len(pairs.users), dtype=np.float32))
    sizes = len(pairs.user_ids), len(pairs.item_ids)
    # cornac makes a vector for each id and writes to them with no check of bounds, so rows stand
    # for the ids: they cannot be too few.
    train_set = data(*sizes, *({row: row for row in range(size)} for size in sizes), liked)
    epochs = settings["epochs"]
    factors: dict[str, Any] = {}
    # cornac's own loop over epochs cannot be listened to, so each epoch is a training of its
    # own that goes on from the last one's factors. A seed makes cornac use a single thread.
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
        # What cornac's modules, and those they import, warn of is not for our callers to mend.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from cornac.data import Dataset as TrainSet
            from cornac.models import BPR
    except ImportError as error:
        raise MissingExtraError(f"{INSTALL} ({error})") from None
    return BPR, TrainSet


def _whole(name: str, value: int, *, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"`{name}` must be a whole number, got {value!r}") from None
    if number < least:
        raise InputError(f"`{name}` must be at least {least}, got {number}")
    return number
