"""LMDP: LMDH that starts from a population prior and keeps a minimum of diversity."""

from functools import lru_cache
from typing import Final, Literal, Unpack

from variegate.model.catalogue import Catalogue
from variegate.policies.floor import FloorLike
from variegate.policies.lmdh import LMDH, ListOptions
from variegate.policies.ridge_policy import PriorLike
from variegate.prior import Prior, default_prior

#: Chosen on training users only, by `variegate tune`; see docs/beyond.md.
EXPLORATION: Final = 0.25
FLOOR: Final = (0.5, 1.7, 15.0)
#: Without a fitted prior: from less, a first click narrows the next list to what was clicked.
DEFAULT_PRIOR_FLOOR: Final = 0.8


class PriorOptions(ListOptions, total=False):
    """Options of LMDP; see there."""

    prior: PriorLike | None
    exploration: float
    floor: FloorLike | Literal["auto"] | None


class LMDP(LMDH):
    """LMDH from a population prior, with a floor under diversity: the recommended policy.

    The other options are those of LMDH, except `ridge`, which the prior replaces.

    Parameters
    ----------
    prior
        What `fit_prior` returned, or the path of it. By default a prior that suits any
        catalogue and favours a feature named ``popularity``; see `default_prior`.
    exploration
        Standard deviations of the posterior added to an item's estimated reward.
    floor
        As for LMDH. ``"auto"`` starts at 0.5 and rises to 1.7 with a `prior`, and is 0.8 without
        one; None for no floor.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> policy = LMDP(items)
    >>> policy.preferences.diversity
    array([0.35])
    >>> policy.floor
    Floor(opening=0.8, full=0.8, half=50.0)
    """

    name = "lmdp"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        exploration: float = EXPLORATION,
        floor: FloorLike | Literal["auto"] | None = "auto",
        **options: Unpack[ListOptions],
    ) -> None:
        if isinstance(floor, str) and floor == "auto":
            floor = DEFAULT_PRIOR_FLOOR if prior is None else FLOOR
        super().__init__(
            catalogue,
            ridge=1.0,  # the prior replaces it; given here so that LMDP(ridge=...) is an error
            prior=_shared_default_prior(catalogue) if prior is None else prior,
            exploration=exploration,
            floor=floor,
            **options,
        )

    @property
    def label(self) -> str:
        return "LMDP (greedy, α = 0)" if self.exploration == 0.0 else "LMDP"


@lru_cache(maxsize=8)
def _shared_default_prior(catalogue: Catalogue) -> Prior:
    return default_prior(catalogue)
