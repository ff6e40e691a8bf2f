"""LMDP: LMDH that starts from a population prior and keeps a minimum of diversity."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, Self, Unpack

from variegate.model.catalogue import Catalogue
from variegate.policies.lmdh import LMDH, ListOptions
from variegate.policies.ridge_policy import PriorLike, read_prior
from variegate.prior import ItemPrior, Prior, default_prior

#: Chosen on training users only, by `variegate tune`; see docs/explanation/beyond.md.
EXPLORATION: Final = 0.25
#: Without a fitted prior: from less, a first click narrows the next list to what was clicked.
DEFAULT_PRIOR_FLOOR: Final = 0.8


class PriorOptions(ListOptions, total=False):
    """Options of LMDP; see there."""

    prior: PriorLike | None
    exploration: float
    floor: float | Literal["auto"] | None


class LMDP(LMDH):
    """LMDH from a population prior, with a floor under diversity: the recommended policy.

    The other options are those of LMDH, except `ridge`, which the prior replaces. On a catalogue
    with the feature ``score`` the diversity gain of an item is by default its mean distance to the
    items above (`normaliser`), and there is no floor.

    Parameters
    ----------
    prior
        What `fit_prior` returned, or the path of it; see `ItemLMDP` for what it changes. By
        default a prior that suits any catalogue and favours a feature named ``popularity``; see
        `default_prior`.
    exploration
        Standard deviations of the posterior added to an item's estimated reward.
    floor
        As for LMDH. ``"auto"`` is the beta of a prior of items, none with the feature ``score``,
        and 0.8 otherwise; None for no floor.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> policy = LMDP(items)
    >>> policy.preferences.diversity
    array([0.35])
    >>> policy.floor
    0.8
    """

    name = "lmdp"

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        prior: PriorLike | None = None,
        exploration: float = EXPLORATION,
        floor: float | Literal["auto"] | None = "auto",
        **options: Unpack[ListOptions],
    ) -> None:
        has_score = catalogue.score_column is not None
        if has_score:
            options.setdefault("normaliser", "mean")
        if isinstance(floor, str) and floor == "auto":
            floor = None if has_score else DEFAULT_PRIOR_FLOOR
        super().__init__(
            catalogue,
            ridge=1.0,  # the prior replaces it; given here so that LMDP(ridge=...) is an error
            prior=_shared_default_prior(catalogue) if prior is None else prior,
            exploration=exploration,
            floor=floor,
            **options,
        )

    @classmethod
    def _class_for(cls, options: Mapping[str, Any]) -> type[Self]:
        prior = options.get("prior")
        if cls is LMDP and prior is not None and isinstance(read_prior(prior), ItemPrior):
            from variegate.policies.item_lmdp import ItemLMDP  # it imports this module

            return ItemLMDP  # type: ignore[return-value]
        return cls

    @property
    def label(self) -> str:
        return "LMDP (greedy, α = 0)" if self.exploration == 0.0 else "LMDP"


@lru_cache(maxsize=8)
def _shared_default_prior(catalogue: Catalogue) -> Prior:
    return default_prior(catalogue)
