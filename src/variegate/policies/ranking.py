"""What the policies that do not learn rank by (the paper's r_a)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from variegate.arrays import FloatArray, IndexArray, check_numbers
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue


def checked_mean_user(catalogue: Catalogue, mean_user: ArrayLike | None) -> FloatArray:
    """Return the mean user vector: as given, else the catalogue's, else all ones.

    Ones let every feature count the same, for catalogues that no users were learnt for.
    """
    if mean_user is None:
        return np.ones(catalogue.d) if catalogue.mean_user is None else catalogue.mean_user
    vector = check_numbers("mean_user", mean_user, ndim=1)
    if vector.shape != (catalogue.d,):
        raise InputError(f"`mean_user` must have shape ({catalogue.d},), got {vector.shape}")
    return vector


def relevance_scores(catalogue: Catalogue, rows: IndexArray, mean_user: FloatArray) -> FloatArray:
    """Return r_a = sigmoid(u . z_a), with u the mean user, for each row."""
    scores: FloatArray = expit(catalogue.features[rows] @ mean_user)
    return scores
