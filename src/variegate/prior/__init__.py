"""Population priors: what is known about a user before the first list."""

from variegate.prior.default import default_prior
from variegate.prior.features import (
    N_COMPONENTS,
    add_collaborative_features,
    add_popularity_feature,
    add_svd_features,
)
from variegate.prior.fit import fit_prior
from variegate.prior.prior import Prior
from variegate.prior.refit import UserSums, fit_prior_from_sums, marginal_likelihood

__all__ = [
    "N_COMPONENTS",
    "Prior",
    "UserSums",
    "add_collaborative_features",
    "add_popularity_feature",
    "add_svd_features",
    "default_prior",
    "fit_prior",
    "fit_prior_from_sums",
    "marginal_likelihood",
]
