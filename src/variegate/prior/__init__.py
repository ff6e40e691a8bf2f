"""What is believed of a user before the first list: fitted, saved, told in words."""

from variegate.prior.features import (
    TASTES,
    add_collaborative_features,
    add_popularity_feature,
    add_svd_features,
)
from variegate.prior.fit import default_prior, fit_prior
from variegate.prior.prior import Prior
from variegate.prior.refit import UserSums, fit_prior_from_sums, marginal_likelihood

__all__ = [
    "TASTES",
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
