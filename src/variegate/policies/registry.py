"""Every policy by its name."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from inspect import Parameter, isabstract, signature
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import check_choice
from variegate.errors import InputError, NotFoundError
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


@dataclass(frozen=True)
class PolicySpec:
    """How to make a policy, in any process: its name, or its class's place, and its options.

    Examples
    --------
    >>> spec = parse_policy("lmdh:ridge=1,exploration=0.5")
    >>> spec.options
    {'ridge': 1, 'exploration': 0.5}
    >>> str(spec)
    'lmdh:ridge=1,exploration=0.5'
    """

    #: A name of `POLICIES`, or "module:Class" for a class of one's own
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ",".join(f"{name}={_written(value)}" for name, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name

    def __hash__(self) -> int:
        return hash(str(self))

    def __call__(self, catalogue: Catalogue) -> Policy:
        """Return a new policy for one user."""
        return self.maker()(catalogue, **self.options)

    def maker(self) -> Callable[..., Policy]:
        """Return what makes the policy, or raise NotFoundError, with the nearest right name."""
        make = (
            _own_class(self.name)
            if ":" in self.name
            else POLICIES[check_choice("policy", self.name, POLICIES)]
        )
        check_options(self.name, make, self.options)
        return make


def parse_policy(text: str) -> PolicySpec:
    """Return the policy that `text` names, with its options.

    It reads ``name`` or ``name:option=value,...``, and for a class of one's own
    ``module:Class`` or ``module:Class:option=value,...``. Raises NotFoundError, with the nearest
    right name, where there is no such policy or option.
    """
    name, _, rest = text.partition(":")
    if name not in POLICIES:
        class_name, _, rest = rest.partition(":")
        if not (class_name.isidentifier() and name and name[0] != "."):
            check_choice("policy", name, POLICIES)
        name = f"{name}:{class_name}"
    spec = PolicySpec(name, _parsed_options(text, rest))
    spec.maker()
    return spec


def split_values(text: str) -> list[str]:
    """Return the parts of a line between commas, but for the commas inside brackets.

    Examples
    --------
    >>> split_values("1,[2,3],growing")
    ['1', '[2,3]', 'growing']
    """
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def _parsed_options(text: str, rest: str) -> dict[str, Any]:
    options = {}
    for part in split_values(rest):
        option, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"`policy` must read name:option=value,..., got {text!r}")
        options[option.strip().replace("-", "_")] = _read(value.strip())
    return options


def _read(value: str) -> Any:
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value  # plain text such as growing or theory


def _written(value: Any) -> str:
    # Text that would be read as something else, such as "1", is quoted.
    is_plain = isinstance(value, str) and _read(value) == value
    return value if is_plain else json.dumps(value)


def _own_class(place: str) -> type[Policy]:
    module_name, _, name = place.partition(":")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise NotFoundError(
            f"`policy` {place!r} names no policy and no module: {error}; the policies are "
            f"{', '.join(POLICIES)}"
        ) from None
    if not hasattr(module, name):
        near = get_close_matches(name, vars(module), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise NotFoundError(f"`policy` {place!r}: {module_name} has no {name!r}{hint}")
    found = getattr(module, name)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InputError(f"`policy` {place!r} must be a class made from variegate.Policy")
    if isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InputError(f"`policy` {place!r} must have the methods {missing}")
    return found
