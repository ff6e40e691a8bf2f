"""A prior for catalogues without training users: a guess that suits any content."""

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import check_positive
from variegate.model.catalogue import Catalogue
from variegate.prior.features import POPULARITY
from variegate.prior.prior import Prior, per_distance

#: Variance of each feature's weight, about an eighth of the noise.
VARIANCE: Final = 0.03
#: The variance of a coin toss.
NOISE: Final = 0.25
#: Means of beta, shared by the distances, and of the weight of popularity.
BETA: Final = 0.35
POPULARITY_WEIGHT: Final = 0.1
#: Mean of the weight of a ranker's normalised score: the first list follows the ranker, and with
#: the mean of beta the model expects a reward near that of a coin toss.
SCORE_WEIGHT: Final = 0.5
BETA_VARIANCE: Final = 0.05


def default_prior(
    catalogue: Catalogue,
    *,
    variance: float = VARIANCE,
    noise: float = NOISE,
    beta: ArrayLike | None = None,
    beta_variance: ArrayLike = BETA_VARIANCE,
) -> Prior:
    """Return a prior for a catalogue without training users.

    The weights of the features are independent. Feature vectors have a norm of at most 1
    (`content_features`), so that `variance` is also the largest variance of an item's relevance,
    whether it has many features or few. A click on item i changes the relevance of item j by
    z_i.z_j / (|z_i|^2 + noise / variance) times the surprise: most for an item that shares all
    features with i, such as a sequel. With noise / variance near 1 a few clicks would outweigh
    diversity and fill the next list with near copies; with 8 they need several lists.

    Parameters
    ----------
    variance
        Variance of each feature's weight. The means are 0, except 0.1 for a feature named
        "popularity" and 0.5 for the feature "score" of a request's scores.
    noise
        The variance of a reward around the model's estimate; 0.25 is that of a coin toss.
    beta, beta_variance
        Mean and variance of beta: one number for all distances or one for each. By default the
        distances share a mean of 0.35.

    Examples
    --------
    >>> shop = Catalogue(["tea", "rum"], [[1, 0], [0, 1]], "cosine")
    >>> default_prior(shop).covariance.diagonal().tolist()
    [0.03, 0.03, 0.05]
    """
    check_positive(variance=variance, noise=noise)
    d, m, names = catalogue.d, catalogue.m, catalogue.feature_names
    mean = [POPULARITY_WEIGHT if name == POPULARITY else 0.0 for name in names]
    if catalogue.score_column is not None:
        mean[catalogue.score_column] = SCORE_WEIGHT
    betas = per_distance("beta", BETA / max(m, 1) if beta is None else beta, m)
    beta_variances = per_distance("beta_variance", beta_variance, m, positive=True)
    return Prior(
        np.append(mean, betas),
        np.diag(np.append(np.full(d, variance), beta_variances)),
        noise,
        names,
        tuple(h.name for h in catalogue.distances),
    )
