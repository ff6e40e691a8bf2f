"""An estimator in the style of scikit-learn: lists for users, from a matrix of their likes."""

from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from variegate.arrays import IndexArray, check_count
from variegate.errors import InputError, MissingExtraError
from variegate.model.catalogue import Catalogue
from variegate.model.distances import cosine
from variegate.policies import LMDP
from variegate.prior import fit_prior

try:
    from sklearn.base import BaseEstimator
except ImportError:
    raise MissingExtraError(
        "`variegate.sklearn_estimator` needs scikit-learn: pip install 'variegate[content]'"
    ) from None

#: What `scipy.sparse.csr_array` takes: a sparse matrix, an array, or lists of numbers
Matrix: TypeAlias = Any


class ListEstimator(BaseEstimator):  # type: ignore[misc,unused-ignore]
    """Learns from a matrix of likes, and recommends a list to any row of such a matrix.

    It has the methods of scikit-learn, so that its model selection can choose `diversity`. The
    policy is LMDP with a prior fitted to the rows, as `variegate replay` evaluates it.

    Parameters
    ----------
    vectors
        A vector of each column of the matrix, (items, d), for the distances. Not given: the
        columns themselves, so that items are near each other that the same users like.
    k
        Items in a list.
    diversity, noise
        As for `fit_prior`.

    Examples
    --------
    >>> kinds = np.kron(np.eye(2), np.ones((6, 4)))  # two kinds of users, who like other items
    >>> estimator = ListEstimator(k=2).fit(kinds)
    >>> estimator.predict([[1, 0, 0, 0, 0, 0, 0, 0]]).shape
    (1, 2)
    """

    def __init__(
        self, vectors: Any = None, *, k: int = 10, diversity: float = 0.9, noise: float = 0.2
    ) -> None:
        self.vectors, self.k, self.diversity, self.noise = vectors, k, diversity, noise

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Fit the prior to the likes of users: a dense or sparse matrix, (users, items)."""
        likes = csr_array(X)
        n_items = likes.shape[1]
        vectors = likes.T.toarray() if self.vectors is None else np.asarray(self.vectors)
        self.catalogue_ = Catalogue(range(n_items), np.ones((n_items, 1)), [cosine(vectors)])
        self.prior_ = fit_prior(
            self.catalogue_, _rows(likes), diversity=self.diversity, noise=self.noise
        )
        self.n_features_in_ = n_items
        return self

    def predict(self, X: Matrix) -> IndexArray:
        """Return a list of items that are new to each user, from what they like, (users, k)."""
        likes = csr_array(X)
        if likes.shape[1] != self.n_features_in_:
            raise InputError(f"`X` must have {self.n_features_in_} items, got {likes.shape[1]}")
        return np.array([self._list(rows) for rows in _rows(likes)])

    def score(self, X: Matrix, y: object = None) -> float:
        """Return the share of half of each user's likes that a list from the others contains."""
        shares = []
        for rows in _rows(csr_array(X)):
            if len(rows) > 1:
                hidden = rows[1::2]
                shares.append(np.isin(hidden, self._list(rows[::2])).mean())
        if not shares:
            raise InputError("`X` must have a user with two likes or more, got none")
        return float(np.mean(shares))

    def _list(self, rows: IndexArray) -> IndexArray:
        check_count(self.k, self.n_features_in_ - len(rows), of="the items that are new to a user")
        user = LMDP(self.catalogue_, prior=self.prior_)
        if len(rows):
            user.learn_relevance(rows, np.ones(len(rows)))
        return user.recommend(self.k, exclude=rows).items


def _rows(likes: Any) -> list[IndexArray]:
    """Return the columns of the entries above 0 in each row."""
    rows = (likes[[number]] for number in range(likes.shape[0]))
    return [np.asarray(row.indices[row.data > 0]) for row in rows]
