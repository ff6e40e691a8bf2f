"""The methods that the experiments compare: the paper's, ours, ablations of ours, and sweeps.

A sweep runs one method over the values of its option that trades recall for diversity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from variegate.evaluation.replay import PolicyFactory, ReplayTask
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy, PolicySpec, parse_policy, policy_options
from variegate.policies.lmdp import FLOOR
from variegate.prior import Prior, fit_prior
from variegate.prior.fit import BETA

#: Our learner, and the paper's algorithm that it is compared with.
OURS: Final = "lmdp"
LMDH: Final = "lmdh"
#: LMDH that never explores.
LMDH_GREEDY: Final = "lmdh-greedy"

#: The baselines of the paper on real data.
BASELINES: Final = ("logrank", "mmr", "epsilon-greedy", "c2ucb", "dc2b")
#: DC2B at its strongest.
DC2B_INTERCEPT: Final = "dc2b:intercept=true"
#: What our learner is compared with: also DC2B at its strongest, and LSB of the simulation.
ALL_BASELINES: Final = (*BASELINES, DC2B_INTERCEPT, "lsb")
#: The methods of the paper's Figures 1 to 3, and DC2B at its strongest.
PAPER_METHODS: Final = (LMDH, *BASELINES, DC2B_INTERCEPT)
#: LMDH under each reading of the normaliser of the distance; `growing` is its default.
READINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"growing": LMDH, "fixed": "lmdh:normaliser=fixed", "none": "lmdh:normaliser=none"}
)

_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lmdp": "LMDP",
        "lmdt": "LMDT",
        "lmdh": "LMDH",
        "lmdh-greedy": "LMDH, α = 0",
        "lmdh:normaliser=fixed": "LMDH, fixed",
        "lmdh:normaliser=none": "LMDH, none",
        "logrank": "LogRank",
        "mmr": "MMR",
        "epsilon-greedy": "ε-Greedy",
        "c2ucb": "C2UCB",
        "dc2b": "DC2B (reconstructed)",
        DC2B_INTERCEPT: "DC2B (reconstructed), intercept",
        "lsb": "LSB",
        "uniform": "chance",
        "popular": "most popular",
    }
)


def method_title(policy: str) -> str:
    """Return the name of a policy in tables and figures; the spec itself, if it has no other."""
    return _TITLES.get(policy, policy)


#: Options of `fit_prior` by default; several distances share this beta.
PRIOR_OPTIONS: Final[Mapping[str, Any]] = {**(fit_prior.__kwdefaults__ or {}), "beta": BETA}
#: Features of the items: embeddings; also their popularity; also the crowd's tastes.
Items: TypeAlias = Literal["plain", "popularity", "crowd"]


@dataclass(frozen=True)
class Method:
    """A policy, the features of its items, and the prior that its users start from."""

    #: Its key in the results
    key: str
    #: Its name in tables and figures
    title: str
    policy: PolicySpec
    items: Items = "plain"
    #: Options of the prior fitted to the training users; None for no prior
    prior: Mapping[str, Any] | None = None

    def settings(self, replay: Mapping[str, object]) -> dict[str, object]:
        """Return the settings that its replay is stored under.

        A method of the paper has the settings of the paper's own experiments, and shares their
        replay.
        """
        settings = {**replay, "policy": str(self.policy)}
        if self.items != "plain":
            settings["items"] = self.items
        if self.prior is not None:
            settings["prior"] = {**PRIOR_OPTIONS, **self.prior}
        return settings


@dataclass(frozen=True)
class PriorPolicy:
    """Makes policies that start from a fitted prior; it can be pickled."""

    policy: PolicySpec
    prior: Prior

    def __call__(self, catalogue: Catalogue) -> Policy:
        """Return a new policy for one user."""
        return self.policy.maker()(catalogue, **self.policy.options, prior=self.prior)


def factories(methods: Sequence[Method], task: ReplayTask) -> list[PolicyFactory]:
    """Return a factory of policies for each method; each prior is fitted once."""
    priors: dict[tuple[tuple[str, object], ...], Prior] = {}
    made: list[PolicyFactory] = []
    for method in methods:
        if method.prior is None:
            made.append(method.policy)
            continue
        options = tuple(sorted(method.prior.items()))
        if options not in priors:
            priors[options] = task.fit_prior(**method.prior)
        made.append(PriorPolicy(method.policy, priors[options]))
    return made


def with_defaults(name: str, **changes: Any) -> PolicySpec:
    """Return a policy with explicit exploration and floor, so that stored settings have them."""
    takes = policy_options(name)
    options = {option: takes[option] for option in ("exploration", "floor") if option in takes}
    if options.get("floor") == "auto":
        options["floor"] = FLOOR  # every method here that has a floor has a prior too
    return PolicySpec(name, {**options, **changes})


def _ours(key: str = OURS, title: str = "LMDP", name: str = OURS, **changes: Any) -> Method:
    return Method(key, title, with_defaults(name, **changes), "crowd", {})


_LMDP: Final = with_defaults(OURS).options
_WITH_FLOOR: Final = PolicySpec(LMDH, {"floor": _LMDP["floor"]})
#: With a prior, LMDH explores as little as LMDP: its width is in other units than without one.
_FROM_PRIOR: Final = PolicySpec(LMDH, {"exploration": _LMDP["exploration"]})

#: Our learner without one part or another.
ABLATIONS: Final = (
    Method("prior", "prior alone", _FROM_PRIOR, "plain", {}),
    Method("popularity", "popularity alone", PolicySpec(LMDH), "popularity"),
    Method("crowd", "popularity and tastes alone", PolicySpec(LMDH), "crowd"),
    Method("floor", "floor alone", _WITH_FLOOR),
    Method("no-prior", "LMDP without a prior", _WITH_FLOOR, "crowd"),
    Method("tasteless", "LMDP without tastes", with_defaults(OURS), "popularity", {}),
    Method("no-floor", "LMDP without a floor", _FROM_PRIOR, "crowd", {}),
    _ours("lmdp-greedy", "LMDP, α = 0", exploration=0.0),
)
#: Thompson sampling from the same posterior.
LMDT: Final = _ours("lmdt", "LMDT", "lmdt")
#: A baseline that starts from the same prior and sees the same features.
C2UCB_WITH_PRIOR: Final = Method(
    "c2ucb-prior",
    "C2UCB with our prior",
    PolicySpec("c2ucb", {"exploration": _LMDP["exploration"]}),
    "crowd",
    {},
)
#: Everything that is replayed on every split beyond the paper.
METHODS: Final = (
    _ours(),
    LMDT,
    *ABLATIONS,
    *(
        Method(text, method_title(text), parse_policy(text))
        for text in (LMDH, LMDH_GREEDY, *ALL_BASELINES)
    ),
    C2UCB_WITH_PRIOR,
)
METHOD_TITLES: Final[Mapping[str, str]] = {method.key: method.title for method in METHODS}

#: The title of our default, whose floor rises as more of a user is known.
RISING_FLOOR: Final = "its own floor, rising"
_FLOORS: Final = (0.0, 0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def _sweep(name: str, option: str, values: Sequence[float], **others: Any) -> tuple[Method, ...]:
    """Return a method of the paper at each value of an option."""
    default = policy_options(name)[option]
    methods = []
    for value in values:
        # Its default is left out of the spec, so that it shares the replay of the paper's method.
        policy = PolicySpec(name, others if value == default else {**others, option: value})
        methods.append(Method(str(policy), f"{option.replace('_', ' ')} {value:g}", policy))
    return tuple(methods)


def _sweep_c2ucb_with_prior() -> tuple[Method, ...]:
    swept, base = _sweep("c2ucb", "entropy_weight", (0.0, 0.1, 0.3, 1.0)), C2UCB_WITH_PRIOR
    return tuple(
        # The default is the method that is replayed on every split.
        replace(base, title=method.title)
        if not method.policy.options
        else replace(
            base,
            key=f"{base.key}, {method.policy.options['entropy_weight']:g}",
            title=method.title,
            policy=PolicySpec("c2ucb", {**base.policy.options, **method.policy.options}),
        )
        for method in swept
    )


#: By method, its settings from the most recall to the most diversity.
SWEEPS: Final[Mapping[str, tuple[Method, ...]]] = MappingProxyType(
    {
        OURS: (
            replace(
                _ours(f"{OURS}, no variety", "floor 0, β from 0", floor=0.0), prior={"beta": 0.0}
            ),
            *(
                _ours(f"{OURS}, floor {floor:g}", f"floor {floor:g}", floor=floor)
                for floor in _FLOORS
            ),
            _ours(title=RISING_FLOOR),
        ),
        LMDH: (
            Method(LMDH, "no floor", PolicySpec(LMDH)),
            *_sweep(LMDH, "floor", (0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0)),
        ),
        C2UCB_WITH_PRIOR.key: _sweep_c2ucb_with_prior(),
        "c2ucb": _sweep("c2ucb", "entropy_weight", (0.0, 0.1, 0.3, 1.0, 10.0)),
        "mmr": _sweep("mmr", "trade_off", (1.0, 0.9, 0.7, 0.5, 0.35, 0.2, 0.1)),
        "epsilon-greedy": _sweep("epsilon-greedy", "epsilon", (0.0, 0.05, 0.2, 0.5)),
        "dc2b": _sweep("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3, 0.0)),
        DC2B_INTERCEPT: _sweep("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3), intercept=True),
        "logrank": (Method("logrank", "default", PolicySpec("logrank")),),
        "lsb": (Method("lsb", "default", PolicySpec("lsb")),),
    }
)
#: Every setting of the sweeps once.
SWEPT_METHODS: Final = tuple({m.key: m for sweep in SWEEPS.values() for m in sweep}.values())

_SWEEP_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        OURS: "LMDP, by its floor",
        LMDH: "LMDH, by a floor",
        C2UCB_WITH_PRIOR.key: "C2UCB with our prior, by its entropy weight",
        "c2ucb": "C2UCB, by its entropy weight",
        "mmr": "MMR, by its trade-off",
        "epsilon-greedy": "ε-Greedy, by its ε",
        "dc2b": "DC2B (reconstructed), by its sharpness",
        DC2B_INTERCEPT: "DC2B (reconstructed), intercept, by its sharpness",
        "logrank": "LogRank",
        "lsb": "LSB",
    }
)


def sweep_title(method: str) -> str:
    """Return the name of a method together with the option that is swept."""
    return _SWEEP_TITLES.get(method, method)
