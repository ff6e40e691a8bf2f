"""Item embeddings by alternating least squares (ALS), trained with implicit: for many likes."""

import warnings
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy

from variegate.arrays import check_choice, check_positive
from variegate.data.bpr import Pairs, cached_training, normalised, pairs_of, whole_number
from variegate.data.dataset import Dataset
from variegate.data.embeddings import NORMALISATIONS, Embeddings
from variegate.errors import MissingExtraError

#: The error message if implicit is missing.
INSTALL: Final = "fit_als needs implicit: pip install 'variegate[als]'"


def fit_als(
    dataset: Dataset,
    *,
    d: int = 10,
    epochs: int = 15,
    regularisation: float = 0.01,
    like_weight: float = 1.0,
    seed: int = 0,
    normalise: str = "global",
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
    cache: str | Path | None = None,
) -> Embeddings:
    """Train item vectors by weighted matrix factorisation of the likes.

    Hu, Koren and Volinsky: Collaborative filtering for implicit feedback datasets (ICDM 2008). A
    pass takes time in proportion to the likes and uses all cores, so that tens of millions of
    likes can be fitted, where `fit_bpr` needs hundreds of passes on one core. The vectors contain
    popularity, which those of `fit_bpr` leave out. On one machine and with one version of
    implicit, the same pairs and seed give the same bits, for any number of threads.

    Parameters
    ----------
    dataset
        The liked pairs. Pass only the training users' part.
    d
        The number of dimensions.
    epochs
        The number of passes over users and items.
    regularisation
        The L2 regularisation of the vectors.
    like_weight
        The weight of a like, relative to that of a pair without one.
    threads
        How many to use; 0: all cores.
    seed, normalise, progress, cache
        As for `fit_bpr`.
    """
    check_choice("normalise", normalise, NORMALISATIONS)
    check_positive(regularisation=regularisation, like_weight=like_weight)
    threads = whole_number("threads", threads, minimum=0)
    pairs = pairs_of(dataset)
    settings = {
        "method": "als",
        "implicit": _implicit_version(),
        "data": pairs.digest,
        "d": whole_number("d", d, minimum=1),
        "epochs": whole_number("epochs", epochs, minimum=1),
        "regularisation": float(regularisation),
        "like_weight": float(like_weight),
        "seed": whole_number("seed", seed, minimum=0),
    }
    raw = cached_training(cache, settings, lambda: _trained(pairs, settings, threads, progress))
    return normalised(raw, normalise)


def _trained(
    pairs: Pairs,
    settings: Mapping[str, Any],
    threads: int,
    progress: Callable[[int, int], None] | None,
) -> Embeddings:
    from threadpoolctl import threadpool_limits

    # The class of the CPU: the factory would pick a GPU, whose bits differ.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        from implicit.cpu.als import AlternatingLeastSquares

    size = len(pairs.user_ids), len(pairs.item_ids)
    weights = np.full(len(pairs.users), settings["like_weight"], dtype=np.float32)
    likes = scipy.sparse.csr_matrix((weights, (pairs.users, pairs.items)), size)

    def tell(done: int, *_: object) -> None:
        if progress is not None:
            progress(done + 1, settings["epochs"])

    # Threads of BLAS would change the rounding of products, and slow implicit down.
    with threadpool_limits(1, "blas"):
        model = AlternatingLeastSquares(
            factors=settings["d"],
            regularization=settings["regularisation"],
            iterations=settings["epochs"],
            num_threads=threads,
            random_state=settings["seed"],
        )
        model.fit(likes, show_progress=False, callback=tell)
    users, items = (
        np.asarray(factors, dtype=np.float64)
        for factors in (model.user_factors, model.item_factors)
    )
    return Embeddings(pairs.item_ids, items, users.mean(axis=0), settings=settings)


def _implicit_version() -> str:
    try:
        return metadata.version("implicit")
    except metadata.PackageNotFoundError:
        raise MissingExtraError(INSTALL) from None
