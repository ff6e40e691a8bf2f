"""Every policy by name, and policies with options as text: ``lmdh:ridge=1,exploration=0.5``."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache, partial
from importlib import import_module
from inspect import Parameter, isabstract, signature
from types import MappingProxyType
from typing import Any, Final, Unpack, get_args, get_origin

from variegate.arrays import check_choice
from variegate.errors import InputError, NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.policies.base import Policy
from variegate.policies.c2ucb import C2UCB
from variegate.policies.comblin import CombLinTS, CombLinUCB
from variegate.policies.dc2b import DC2B
from variegate.policies.ease import EASE
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

#: Every policy by the name that options and commands use, with the paper's settings.
POLICIES: Final[Mapping[str, Callable[..., Policy]]] = MappingProxyType(
    {
        "lmdp": LMDP,
        "lmdt": LMDT,
        "lmdh": LMDH,
        "lmdh-greedy": partial(LMDH, exploration=0.0),
        "logrank": LogRank,
        "ease": EASE,
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


@dataclass(frozen=True)
class PolicySpec:
    """A policy's name and options: creates the policy in any process.

    Examples
    --------
    >>> spec = parse_policy("lmdh:ridge=1,exploration=0.5")
    >>> spec.options
    {'ridge': 1, 'exploration': 0.5}
    >>> str(spec)
    'lmdh:ridge=1,exploration=0.5'
    """

    #: A name in `POLICIES`, or "module:Class" for your own class
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ",".join(f"{name}={_as_text(value)}" for name, value in self.options.items())
        return f"{self.name}:{options}" if options else self.name

    def __hash__(self) -> int:
        return hash(str(self))

    def __call__(self, catalogue: Catalogue) -> Policy:
        """Return a new policy for one user."""
        return self.maker()(catalogue, **self.options)

    def maker(self) -> Callable[..., Policy]:
        """Return the class or function that creates the policy.

        Raises NotFoundError, with the nearest right name, if there is no such policy or option.
        """
        make = _maker(self.name)
        known = _options_of(_class_of(make))
        if known is not None:
            for option in self.options:
                check_choice(f"option of {self.name}", option, known)
        return make


def make_policy(policy: str, catalogue: Catalogue, **options: Any) -> Policy:
    """Return a new policy from its name, or from text as `parse_policy` reads it.

    Raises NotFoundError, with the nearest right name, if there is no such policy or option.

    Parameters
    ----------
    options
        Take precedence over those in the text.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> make_policy("mmr", items, trade_off=0.7)
    MMR(Catalogue(3 items, 2 features, distances: cosine), trade_off=0.7)
    >>> make_policy("mmr:trade_off=0.7", items)
    MMR(Catalogue(3 items, 2 features, distances: cosine), trade_off=0.7)
    """
    spec = parse_policy(policy)
    return PolicySpec(spec.name, {**spec.options, **options})(catalogue)


def parse_policy(text: str) -> PolicySpec:
    """Return the policy that `text` names, with its options.

    The text is ``name`` or ``name:option=value,...``, and for your own class ``module:Class`` or
    ``module:Class:option=value,...``. Raises NotFoundError, with the nearest right name, if there
    is no such policy or option.
    """
    name, _, rest = text.partition(":")
    if name not in POLICIES:
        class_name, _, rest = rest.partition(":")
        if not (class_name.isidentifier() and name and name[0] != "."):
            check_choice("policy", name, POLICIES)
        name = f"{name}:{class_name}"
    spec = PolicySpec(name, _parse_options(text, rest))
    spec.maker()
    return spec


def split_values(text: str) -> list[str]:
    """Return the parts of a text between commas, ignoring commas inside brackets.

    Examples
    --------
    >>> split_values("1,[2,3],growing")
    ['1', '[2,3]', 'growing']
    """
    return [part.strip() for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def policies_with_dial() -> list[str]:
    """Return the names of the policies that accept a `Dial`."""
    return [name for name, make in POLICIES.items() if _class_of(make).takes_dial]


def policies_with_scores() -> list[str]:
    """Return the names of the policies that accept scores and open catalogues."""
    return [name for name, make in POLICIES.items() if _class_of(make).takes_scores]


def policy_options(name: str) -> Mapping[str, Any]:
    """Return the options of a policy in `POLICIES` with their defaults.

    Examples
    --------
    >>> policy_options("logrank")
    {'mean_user': None, 'normaliser': 'growing'}
    """
    make = POLICIES[check_choice("policy", name, POLICIES)]
    preset = make.keywords if isinstance(make, partial) else {}
    return {**(_options_of(_class_of(make)) or {}), **preset}


@lru_cache(maxsize=64)
def _options_of(policy: type) -> Mapping[str, Any] | None:
    """Return the options of a class with their defaults; None if it accepts any."""
    classes = [one for one in policy.__mro__ if "__init__" in vars(one)]
    parameters = signature(vars(classes[0])["__init__"]).parameters.values()
    options = {one.name: one.default for one in parameters if one.default is not Parameter.empty}
    rest = [one.annotation for one in parameters if one.kind is Parameter.VAR_KEYWORD]
    if not rest:
        return options
    if get_origin(rest[0]) is not Unpack:
        return None
    inherited = _options_of(classes[1]) or {}
    (typed,) = get_args(rest[0])
    return options | {name: inherited[name] for name in typed.__annotations__}


def _class_of(make: Callable[..., Policy]) -> type[Policy]:
    found: type[Policy] = make.func if isinstance(make, partial) else make  # type: ignore[assignment]
    return found


def _parse_options(text: str, rest: str) -> dict[str, Any]:
    options = {}
    for part in split_values(rest):
        option, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"`policy` must read name:option=value,..., got {text!r}")
        options[option.strip().replace("-", "_")] = _parse_value(value.strip())
    return options


def _parse_value(value: str) -> Any:
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value  # plain text such as growing or theory


def _as_text(value: Any) -> str:
    # Text that would be parsed as something else, such as "1", is quoted.
    is_plain = isinstance(value, str) and _parse_value(value) == value
    return value if is_plain else json.dumps(value)


def _maker(name: str) -> Callable[..., Policy]:
    return _import_class(name) if ":" in name else POLICIES[check_choice("policy", name, POLICIES)]


def _import_class(place: str) -> type[Policy]:
    module_name, _, name = place.partition(":")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise NotFoundError(
            f"`policy` {place!r} is neither a policy nor a module: {error}; the policies are "
            f"{', '.join(POLICIES)}"
        ) from None
    if not hasattr(module, name):
        near = get_close_matches(name, vars(module), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise NotFoundError(f"`policy` {place!r}: {module_name} has no {name!r}{hint}")
    found = getattr(module, name)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InputError(f"`policy` {place!r} must be a subclass of variegate.Policy")
    if isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InputError(f"`policy` {place!r} must define the methods {missing}")
    return found
