"""LMDH for a user who is not the first: it begins with what is known of others."""

from functools import lru_cache
from typing import Final

from variegate.model.catalogue import Catalogue
from variegate.model.gains import Normaliser
from variegate.model.shortlist import Shortlist
from variegate.policies.attention import AttentionLike
from variegate.policies.floor import FloorLike
from variegate.policies.lmdh import LMDH
from variegate.policies.ridge_policy import PriorLike
from variegate.prior import Prior, default_prior

#: Chosen on training users alone, by `variegate choose`; docs/beyond.md tells how.
EXPLORATION: Final = 0.25
FLOOR: Final = (0.5, 1.7, 15.0)
#: Where nothing is known of any user, weights of features are small to begin with, and so is this.
GUESSED_FLOOR: Final = (0.35, 0.8, 50.0)
#: Of each feature's weight, where nothing is known of any user: enough that a first answer shows in
#: the next list.
GUESSED_VARIANCE: Final = 0.1


class LMDP(LMDH):
    """LMDH from a population prior, with a floor under variety: what this package recommends.

    Parameters are those of LMDH, with other defaults. Without a prior the floor is lower too.

    Parameters
    ----------
    prior
        Where users begin: what `fit_prior` found, or the path of it; without one, a guess that
        fits the catalogue's features and leans to a feature named ``popularity``.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> policy = LMDP(items)
    >>> policy.preferences.diversity
    array([0.35])
    """

    name = "lmdp"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        exploration: float = EXPLORATION,
        floor: FloorLike | None = FLOOR,
        normaliser: Normaliser = "growing",
        search: str = "greedy",
        shortlist: Shortlist | None = None,
        forgetting: float = 1.0,
        attention: AttentionLike = "all",
    ) -> None:
        if prior is None and floor is FLOOR:  # not asked for: who asks for it gets it
            floor = GUESSED_FLOOR
        super().__init__(
            catalogue,
            prior=_guess(catalogue) if prior is None else prior,
            exploration=exploration,
            floor=floor,
            normaliser=normaliser,
            search=search,
            shortlist=shortlist,
            forgetting=forgetting,
            attention=attention,
        )

    @property
    def label(self) -> str:
        return "LMDP (greedy, α = 0)" if self.exploration == 0.0 else "LMDP"


@lru_cache(maxsize=8)
def _guess(catalogue: Catalogue) -> Prior:
    return default_prior(catalogue, variance=GUESSED_VARIANCE)
