"""The estimator in the style of scikit-learn, in scikit-learn's own model selection."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.extras import needs
from variegate.arrays import FloatArray
from variegate.errors import InputError

pytestmark = needs("sklearn")


@pytest.fixture(scope="module")
def likes() -> FloatArray:
    """120 users of three kinds, each of whom likes items of a kind."""
    rng = np.random.default_rng(0)
    same = np.arange(120)[:, None] % 3 == np.arange(60) % 3
    return (rng.random((120, 60)) < np.where(same, 0.4, 0.03)).astype(float)


def test_lists_are_of_the_users_kind_and_new(likes: FloatArray) -> None:
    from variegate.sklearn_estimator import ListEstimator

    estimator = ListEstimator(k=5, diversity=0.0).fit(likes[:90])
    lists = estimator.predict(csr_array(likes[90:]))

    assert lists.shape == (30, 5)
    assert not np.take_along_axis(likes[90:], lists, axis=1).any()
    assert (lists % 3 == np.arange(90, 120)[:, None] % 3).mean() > 0.8


def test_model_selection_finds_the_diversity_with_the_highest_recall(likes: FloatArray) -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    from variegate.sklearn_estimator import ListEstimator

    search = GridSearchCV(clone(ListEstimator(k=5)), {"diversity": [0.0, 5.0]}, cv=3).fit(likes)

    assert search.best_params_ == {"diversity": 0.0}
    assert search.cv_results_["mean_test_score"][0] > 0.2


def test_more_diversity_shows_items_further_apart(likes: FloatArray) -> None:
    from variegate.sklearn_estimator import ListEstimator

    vectors = np.eye(3)[np.arange(60) % 3]
    kinds = [
        np.mean(
            [
                len(set(row % 3))
                for row in ListEstimator(vectors, k=5, diversity=d).fit(likes).predict(likes[:9])
            ]
        )
        for d in (0.0, 5.0)
    ]
    assert kinds[0] < kinds[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.predict(np.ones((1, 59))), "`X` must have 60 items, got 59"),
        (lambda one: one.predict(np.ones((1, 60))), "`k` must be from 1 to 0"),
        (lambda one: one.score(np.eye(60)), "`X` must have a user with two likes or more"),
    ],
)
def test_wrong_matrices_are_refused(likes: FloatArray, call: object, message: str) -> None:
    from variegate.sklearn_estimator import ListEstimator

    with pytest.raises(InputError, match=message):
        call(ListEstimator(k=5).fit(likes))  # type: ignore[operator]
