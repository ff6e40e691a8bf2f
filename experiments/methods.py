"""The methods that the experiments compare: the paper's, ours, ablations of ours, and sweeps.

A sweep runs one method over the values of its option that trades recall for diversity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from variegate.evaluation.replay import FittedPolicy, PolicyFactory
from variegate.evaluation.tuning import DEFAULTS
from variegate.policies import PolicySpec, parse_policy, policy_options
from variegate.prior import fit_prior
from variegate.prior.item_prior import DIVERSITY, NOISE

#: Our learner, and the paper's algorithm that it is compared with.
OURS: Final = "lmdp"
LMDH: Final = "lmdh"
#: LMDH that never explores.
LMDH_GREEDY: Final = "lmdh-greedy"
#: What a team would build from the likes of its users.
EASE: Final = "ease"

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
        "ease": "EASE with MSD",
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


#: Options of `fit_prior` by default.
PRIOR_OPTIONS: Final[Mapping[str, Any]] = fit_prior.__kwdefaults__ or {}


@dataclass(frozen=True)
class Method:
    """A policy, and the prior that its users start from."""

    #: Its key in the results
    key: str
    #: Its name in tables and figures
    title: str
    policy: PolicySpec
    #: Options of the prior fitted to the training users; None for no prior
    prior: Mapping[str, Any] | None = None

    @property
    def factory(self) -> PolicyFactory:
        """What `evaluate` makes its policies with."""
        return self.policy if self.prior is None else FittedPolicy(self.policy, self.prior)

    def settings(self, replay: Mapping[str, object]) -> dict[str, object]:
        """Return the settings that its replay is stored under.

        A method of the paper has the settings of the paper's own experiments, and shares their
        replay.
        """
        settings = {**replay, "policy": str(self.policy)}
        if self.prior is not None:
            settings["prior"] = {**PRIOR_OPTIONS, **self.prior}
        return settings


def _ours(
    key: str = OURS, title: str = "LMDP", *, prior: Mapping[str, Any] | None = None, **options: Any
) -> Method:
    return Method(key, title, PolicySpec(OURS, options), prior or {})


#: About the floor of the first list on the data sets of the paper.
CONSTANT_FLOOR: Final = 0.3

#: Our learner without one part or another.
ABLATIONS: Final = (
    _ours("unweighted", "LMDP, every user weighted alike", prior={"activity_weight": 0.0}),
    _ours("no-floor", "LMDP without a floor", prior={"diversity": 0.0}),
    _ours("constant-floor", "LMDP, a constant floor", floor=CONSTANT_FLOOR),
    _ours("fixed-diversity", "LMDP, β not learnt", prior={"beta_variance": 1e-9}),
    _ours(
        "growing",
        "LMDP, normaliser growing",
        normaliser="growing",
        prior={"diversity": 2 * DIVERSITY},
    ),
    _ours("noise-low", "LMDP, a quarter of the noise", prior={"noise": NOISE / 4}),
    _ours("noise-high", "LMDP, four times the noise", prior={"noise": 4 * NOISE}),
)


def _ease(diversity: float, l2: float) -> Method:
    options = {"diversity": diversity, "l2": l2}
    key = EASE if options == DEFAULTS[EASE] else f"{EASE}, {diversity:g}, {l2:g}"
    return Method(key, f"λ {l2:g}, weight {diversity:g}", PolicySpec(EASE, options), {})


#: Everything that is replayed on every split beyond the paper.
METHODS: Final = (
    _ours(),
    *ABLATIONS,
    Method(EASE, method_title(EASE), PolicySpec(EASE, DEFAULTS[EASE]), {}),
    *(
        Method(text, method_title(text), parse_policy(text))
        for text in (LMDH, LMDH_GREEDY, *ALL_BASELINES)
    ),
)
#: The title of our default among its settings.
DEFAULT_SETTING: Final = f"diversity {DIVERSITY:g}"
METHOD_TITLES: Final[Mapping[str, str]] = {method.key: method.title for method in METHODS}

#: Weights of the mean distance to the items above, relative to the relevance of the best items.
_DIVERSITIES: Final = (0.15, 0.3, 0.6, DIVERSITY, 1.5, 3.0, 6.0, 12.0, 24.0)
_L2: Final = (100.0, 500.0)


def _sweep(name: str, option: str, values: Sequence[float], **others: Any) -> tuple[Method, ...]:
    """Return a method of the paper at each value of an option."""
    default = policy_options(name)[option]
    methods = []
    for value in values:
        # Its default is left out of the spec, so that it shares the replay of the paper's method.
        policy = PolicySpec(name, others if value == default else {**others, option: value})
        methods.append(Method(str(policy), f"{option.replace('_', ' ')} {value:g}", policy))
    return tuple(methods)


#: By method, its settings from the most recall to the most diversity.
SWEEPS: Final[Mapping[str, tuple[Method, ...]]] = MappingProxyType(
    {
        OURS: (
            _ours("no-floor", "diversity 0", prior={"diversity": 0.0}),
            *(
                _ours(
                    OURS if weight == DIVERSITY else f"{OURS}, {weight:g}",
                    f"diversity {weight:g}",
                    prior={"diversity": weight},
                )
                for weight in _DIVERSITIES
            ),
        ),
        # At t = 1 the same lists as ours: a new user's score is the popularity, scaled.
        EASE: tuple(_ease(weight, l2) for l2 in _L2 for weight in (0.0, *_DIVERSITIES)),
        LMDH: (
            Method(LMDH, "no floor", PolicySpec(LMDH)),
            *_sweep(LMDH, "floor", (0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0)),
        ),
        "c2ucb": _sweep("c2ucb", "entropy_weight", (0.0, 0.1, 0.3, 1.0, 10.0)),
        "mmr": _sweep("mmr", "trade_off", (1.0, 0.9, 0.7, 0.5, 0.35, 0.2, 0.1)),
        "epsilon-greedy": _sweep("epsilon-greedy", "epsilon", (0.0, 0.05, 0.2, 0.5)),
        "dc2b": _sweep("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3, 0.0)),
        DC2B_INTERCEPT: _sweep("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3), intercept=True),
        "logrank": (Method("logrank", "default", PolicySpec("logrank")),),
        "lsb": (Method("lsb", "default", PolicySpec("lsb")),),
    }
)
_SWEEP_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        OURS: "LMDP, by its diversity",
        EASE: "EASE with MSD, by its diversity",
        LMDH: "LMDH, by a floor",
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
