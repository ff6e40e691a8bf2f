"""What is compared beyond the paper: our learner, its parts one by one, the paper's methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from experiments.names import method_title
from variegate.model.catalogue import Catalogue
from variegate.policies import POLICIES, Policy, PolicySpec, parse_policy, policy_options
from variegate.policies.lmdp import FLOOR
from variegate.prior import Prior, fit_prior
from variegate.prior.fit import BETA

#: Our learner, and the paper's that it is held against.
OURS: Final = "lmdp"
PAPERS: Final = "lmdh"

#: What `fit_prior` takes where nothing else is said; several distances share this beta.
PRIOR_OPTIONS: Final[Mapping[str, Any]] = {**(fit_prior.__kwdefaults__ or {}), "beta": BETA}


#: What is known of the items: embeddings, their popularity too, the crowd's tastes as well.
Items: TypeAlias = Literal["plain", "popularity", "crowd"]


@dataclass(frozen=True)
class Method:
    """A policy, what it sees of the items, and where its users begin."""

    #: What results call it
    key: str
    #: What tables and pictures call it
    title: str
    policy: PolicySpec
    #: Whether items have their popularity as one more feature, and the crowd's tastes too
    items: Items = "plain"
    #: Options of the prior fitted to the training users; None for no prior
    prior: Mapping[str, Any] | None = None

    def settings(self, replay: Mapping[str, object]) -> dict[str, object]:
        """Return what its replay is kept under, the same wherever it is measured.

        A method of the paper has the settings of the paper's own chapter, and shares its replay.
        """
        settings = {**replay, "policy": str(self.policy)}
        if self.items != "plain":
            settings["items"] = self.items
        if self.prior is not None:
            settings["prior"] = {**PRIOR_OPTIONS, **self.prior}
        return settings


@dataclass(frozen=True)
class PriorPolicy:
    """Makes a policy that begins at a fitted prior, in any process."""

    policy: PolicySpec
    prior: Prior

    def __call__(self, catalogue: Catalogue) -> Policy:
        """Return a new policy for one user."""
        return self.policy.maker()(catalogue, **self.policy.options, prior=self.prior)


def with_defaults(name: str, **changes: Any) -> PolicySpec:
    """Return a policy with its exploration and floor said, so that no default goes unnoticed."""
    takes = policy_options(name)
    said = {option: takes[option] for option in ("exploration", "floor") if option in takes}
    if said.get("floor") == "auto":
        said["floor"] = FLOOR  # every method here that has a floor has a prior too
    return PolicySpec(name, {**said, **changes})


def papers_method(text: str) -> Method:
    """Return a method of the paper, on the items as the paper has them."""
    return Method(text, method_title(text), parse_policy(text))


def ours(key: str = OURS, title: str = "LMDP", name: str = OURS, **changes: Any) -> Method:
    """Return our learner with other options."""
    return Method(key, title, with_defaults(name, **changes), "crowd", {})


_LMDP: Final = with_defaults(OURS).options
_WITH_FLOOR: Final = PolicySpec(PAPERS, {"floor": _LMDP["floor"]})
#: LMDH from a prior explores as little as LMDP: the width is in other units than without one.
_FROM_PRIOR: Final = PolicySpec(PAPERS, {"exploration": _LMDP["exploration"]})

#: Our learner without one thing or another.
PARTS: Final = (
    Method("prior", "prior alone", _FROM_PRIOR, "plain", {}),
    Method("popularity", "popularity alone", PolicySpec(PAPERS), "popularity"),
    Method("crowd", "popularity and tastes alone", PolicySpec(PAPERS), "crowd"),
    Method("floor", "floor alone", _WITH_FLOOR),
    Method("no-prior", "LMDP without a prior", _WITH_FLOOR, "crowd"),
    Method("tasteless", "LMDP without tastes", with_defaults(OURS), "popularity", {}),
    Method("no-floor", "LMDP without a floor", _FROM_PRIOR, "crowd", {}),
    ours("lmdp-greedy", "LMDP, α = 0", exploration=0.0),
)
#: The same posterior, drawn from in place of an upper bound.
SAMPLED: Final = (ours("lmdt", "LMDT", "lmdt"),) if "lmdt" in POLICIES else ()
#: What of the paper's own comparison stands beside it, and LSB of its simulation.
BASELINES: Final = (
    "logrank",
    "mmr",
    "epsilon-greedy",
    "c2ucb",
    "dc2b",
    "dc2b:intercept=true",
    "lsb",
)
#: Whether a baseline would do as well if it began where ours does.
C2UCB_WITH_PRIOR: Final = Method(
    "c2ucb-prior",
    "C2UCB with our prior",
    PolicySpec("c2ucb", {"exploration": _LMDP["exploration"]}),
    "crowd",
    {},
)

#: Everything that is replayed on every split.
METHODS: Final = (
    ours(),
    *SAMPLED,
    *PARTS,
    papers_method(PAPERS),
    papers_method("lmdh-greedy"),
    *map(papers_method, BASELINES),
    C2UCB_WITH_PRIOR,
)
TITLES: Final[Mapping[str, str]] = {method.key: method.title for method in METHODS}
