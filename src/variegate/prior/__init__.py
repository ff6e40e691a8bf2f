"""What is believed of a user before the first list: fitted, saved, told in words."""

from variegate.prior.crowd import with_crowd
from variegate.prior.fitting import fit_prior, vague_prior
from variegate.prior.popularity import with_popularity
from variegate.prior.prior import Prior
from variegate.prior.refitting import fit_prior_from_sums, marginal_likelihood
from variegate.prior.sums import UserSums
from variegate.prior.tastes import TASTES, with_tastes

__all__ = [
    "TASTES",
    "Prior",
    "UserSums",
    "fit_prior",
    "fit_prior_from_sums",
    "marginal_likelihood",
    "vague_prior",
    "with_crowd",
    "with_popularity",
    "with_tastes",
]
