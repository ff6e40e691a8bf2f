"""Population priors: what is known about a user before the first list."""

from variegate.prior.conditioning import Observations
from variegate.prior.default import default_prior
from variegate.prior.features import add_popularity_feature
from variegate.prior.files import PriorFile
from variegate.prior.item_prior import ItemPrior, Posterior, fit_prior
from variegate.prior.prior import Prior
from variegate.prior.refit import fit_prior_from_sums

__all__ = [
    "ItemPrior",
    "Observations",
    "Posterior",
    "Prior",
    "PriorFile",
    "add_popularity_feature",
    "default_prior",
    "fit_prior",
    "fit_prior_from_sums",
]
