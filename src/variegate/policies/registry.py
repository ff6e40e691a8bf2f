"""Every policy by its name."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import check_choice
from variegate.model.catalogue import Catalogue
from variegate.policies.base import Policy
from variegate.policies.c2ucb import C2UCB
from variegate.policies.comblin import CombLinTS, CombLinUCB
from variegate.policies.dc2b import DC2B
from variegate.policies.epsilon_greedy import EpsilonGreedy
from variegate.policies.linucb import LinUCB
from variegate.policies.lmdh import LMDH
from variegate.policies.lmdp import LMDP
from variegate.policies.lmdt import LMDT
from variegate.policies.logrank import LogRank
from variegate.policies.lsb import LSB
from variegate.policies.mmr import MMR
from variegate.policies.popular import Popular
from variegate.policies.uniform import Uniform

#: Every policy by the name that options and commands call it, with the paper's settings.
POLICIES: Final[Mapping[str, Callable[..., Policy]]] = MappingProxyType(
    {
        "lmdp": LMDP,
        "lmdt": LMDT,
        "lmdh": LMDH,
        "lmdh-greedy": partial(LMDH, exploration=0.0),
        "logrank": LogRank,
        "mmr": MMR,
        "epsilon-greedy": EpsilonGreedy,
        "c2ucb": C2UCB,
        "dc2b": DC2B,
        "lsb": LSB,
        "linucb": LinUCB,
        "comblinucb": CombLinUCB,
        "comblints": CombLinTS,
        "uniform": Uniform,
        "popular": Popular,
    }
)


def make_policy(name: str, catalogue: Catalogue, **options: Any) -> Policy:
    """Return a new policy by its name in `POLICIES`, or raise NotFoundError with the nearest.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> make_policy("mmr", items, trade_off=0.7).label
    'MMR'
    """
    factory = POLICIES[check_choice("name", name, POLICIES)]
    check_options(name, factory, options)
    return factory(catalogue, **options)


def policies_with_dial() -> list[str]:
    """Return the names of the policies that take a `Dial`."""
    classes = {name: getattr(make, "func", make) for name, make in POLICIES.items()}
    return [name for name, policy in classes.items() if getattr(policy, "takes_dial", False)]


def check_options(name: str, make: Callable[..., Policy], options: Iterable[str]) -> None:
    """Raise NotFoundError, with the nearest right name, for an option that `make` does not take."""
    takes = signature(make).parameters
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in takes.values()):
        return
    for option in options:
        check_choice(f"option of {name}", option, [one for one in takes if one != "catalogue"])
