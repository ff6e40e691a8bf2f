"""What is believed of a user before the first list: fitted, saved, told in words."""

from variegate.prior.crowd import add_collaborative_features
from variegate.prior.fitting import default_prior, fit_prior
from variegate.prior.popularity import add_popularity_feature
from variegate.prior.prior import Prior
from variegate.prior.refitting import fit_prior_from_sums, marginal_likelihood
from variegate.prior.sums import UserSums
from variegate.prior.tastes import TASTES, add_svd_features

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
