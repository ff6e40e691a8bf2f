"""Vectors learnt from likes by alternating least squares."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.data.embeddings.test_bpr import group_of
from tests.extras import needs
from variegate.data.als import fit_als
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings
from variegate.errors import InputError
from variegate.model.distances import cosine

pytestmark = needs("implicit")

QUICK: dict[str, Any] = {"d": 6, "regularisation": 0.1}


@pytest.fixture(scope="module")
def learnt(tastes: Dataset) -> Embeddings:
    return fit_als(tastes, **QUICK, threads=1)


def test_items_of_one_group_are_nearer_to_each_other(learnt: Embeddings) -> None:
    groups = np.array([group_of(item) for item in learnt.item_ids])
    apart = cosine(learnt.vectors).matrix()
    np.fill_diagonal(apart, np.inf)

    np.testing.assert_array_equal(groups[apart.argmin(axis=1)], groups)


def test_one_seed_gives_the_same_bits_with_any_number_of_threads(
    tastes: Dataset, learnt: Embeddings
) -> None:
    again, other = fit_als(tastes, **QUICK, threads=2), fit_als(tastes, **QUICK, seed=1)

    assert again.vectors.tobytes() == learnt.vectors.tobytes()
    assert other.vectors.tobytes() != learnt.vectors.tobytes()


def test_vectors_predict_the_likes(tastes: Dataset) -> None:
    raw = fit_als(tastes, **QUICK, normalise="none")
    popular = tastes.popularity[:-1]
    assert raw.mean_user is not None

    # Unlike those of BPR they contain popularity: the mean user likes what many like.
    assert np.corrcoef(raw.vectors @ raw.mean_user, popular)[0, 1] > 0.9


def test_trained_vectors_are_cached(tastes: Dataset, tmp_path: Path) -> None:
    epochs: list[tuple[int, int]] = []

    def fit(**changes: Any) -> Embeddings:
        def tell(done: int, total: int) -> None:
            epochs.append((done, total))

        return fit_als(tastes, **QUICK, epochs=2, cache=tmp_path, progress=tell, **changes)

    first, again = fit(), fit()
    fit(like_weight=2.0)

    assert first.vectors.tobytes() == again.vectors.tobytes()
    assert epochs == [(1, 2), (2, 2)] * 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"regularisation": 0.0}, "`regularisation` must be a number greater than 0"),
        ({"like_weight": -1.0}, "`like_weight` must be a number greater than 0"),
        ({"threads": -1}, "`threads` must be at least 0, got -1"),
        ({"d": 0}, "`d` must be at least 1, got 0"),
    ],
)
def test_impossible_settings_are_refused(
    tastes: Dataset, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        fit_als(tastes, **changes)
