"""The dial of each method between recall and diversity, and where it is set."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from experiments.beyond.methods import C2UCB_WITH_PRIOR, OURS, PAPERS, Method, ours
from variegate.policies import PolicySpec, policy_options

FLOORS: Final = (0.0, 0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Our own default, whose floor rises as a user is learnt.
RISING: Final = "its own floor, rising"

_TITLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        OURS: "LMDP, by its floor",
        PAPERS: "LMDH, by a floor",
        "c2ucb-prior": "C2UCB with our prior, by its entropy weight",
        "c2ucb": "C2UCB, by its entropy weight",
        "mmr": "MMR, by its trade-off",
        "epsilon-greedy": "ε-Greedy, by its ε",
        "dc2b": "DC2B (reconstructed), by its sharpness",
        "dc2b:intercept=true": "DC2B (reconstructed), intercept, by its sharpness",
        "logrank": "LogRank",
        "lsb": "LSB",
    }
)


def dial_title(family: str) -> str:
    """Return what tables call a method together with its dial."""
    return _TITLES.get(family, family)


def _ours() -> tuple[Method, ...]:
    still = ours(f"{OURS}, no variety", "floor 0, β from 0", floor=0.0)
    return (
        replace(still, prior={"beta": 0.0}),
        *(ours(f"{OURS}, floor {floor:g}", f"floor {floor:g}", floor=floor) for floor in FLOORS),
        ours(title=RISING),
    )


def _turned(name: str, option: str, values: tuple[float, ...], **others: Any) -> tuple[Method, ...]:
    """Return a method of the paper at each value of an option."""
    default = policy_options(name)[option]
    found = []
    for value in values:
        # Left unsaid, it is the replay that the paper's own chapter has.
        policy = PolicySpec(name, others if value == default else {**others, option: value})
        found.append(Method(str(policy), f"{option.replace('_', ' ')} {value:g}", policy))
    return tuple(found)


def _helped(weight: float) -> Method:
    if weight == policy_options("c2ucb")["entropy_weight"]:
        return replace(C2UCB_WITH_PRIOR, title=f"entropy weight {weight:g}")
    policy = PolicySpec("c2ucb", {**C2UCB_WITH_PRIOR.policy.options, "entropy_weight": weight})
    title = f"entropy weight {weight:g}"
    return Method(
        f"{C2UCB_WITH_PRIOR.key}, {weight:g}",
        title,
        policy,
        C2UCB_WITH_PRIOR.items,
        C2UCB_WITH_PRIOR.prior,
    )


#: By family, the settings of its dial from recall to diversity.
DIALS: Final[Mapping[str, tuple[Method, ...]]] = MappingProxyType(
    {
        OURS: _ours(),
        PAPERS: (
            Method(PAPERS, "no floor", PolicySpec(PAPERS)),
            *_turned(PAPERS, "floor", (0.2, 0.35, 0.5, 0.8, 1.2, 2.0, 4.0)),
        ),
        "c2ucb-prior": tuple(map(_helped, (0.0, 0.1, 0.3, 1.0))),
        "c2ucb": _turned("c2ucb", "entropy_weight", (0.0, 0.1, 0.3, 1.0, 10.0)),
        "mmr": _turned("mmr", "trade_off", (1.0, 0.9, 0.7, 0.5, 0.35, 0.2, 0.1)),
        "epsilon-greedy": _turned("epsilon-greedy", "epsilon", (0.0, 0.05, 0.2, 0.5)),
        "dc2b": _turned("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3, 0.0)),
        "dc2b:intercept=true": _turned("dc2b", "sharpness", (10.0, 3.0, 1.0, 0.3), intercept=True),
        "logrank": (Method("logrank", "as it is", PolicySpec("logrank")),),
        "lsb": (Method("lsb", "as it is", PolicySpec("lsb")),),
    }
)
#: Every setting once.
SETTINGS: Final = tuple({m.key: m for family in DIALS.values() for m in family}.values())
