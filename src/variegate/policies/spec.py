"""A policy and its options as a line of text: what commands and result files speak of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

from variegate.arrays import check_choice
from variegate.catalogue import Catalogue
from variegate.errors import InputError, NotFoundError
from variegate.policies.base import Policy
from variegate.policies.registry import POLICIES, make_policy


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
        if ":" not in self.name:
            return make_policy(self.name, catalogue, **self.options)
        own = _own_class(self.name)
        known = [name for name in signature(own).parameters if name != "catalogue"]
        for option in self.options:
            check_choice(f"option of {self.name}", option, known)
        return own(catalogue, **self.options)


def parse_policy(text: str) -> PolicySpec:
    """Return the policy that `text` names, with its options.

    It reads ``name`` or ``name:option=value,...``, and for a class of one's own
    ``module:Class`` or ``module:Class:option=value,...``. Raises NotFoundError, with the nearest
    right name, where there is no such policy.
    """
    name, _, rest = text.partition(":")
    if name not in POLICIES:
        if not rest:
            check_choice("policy", name, POLICIES)
        class_name, _, rest = rest.partition(":")
        name = f"{name}:{class_name}"
        _own_class(name)
    return PolicySpec(name, _parsed_options(text, rest))


def _parsed_options(text: str, rest: str) -> dict[str, Any]:
    options = {}
    for part in filter(None, rest.split(",")):
        option, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"`policy` must read name:option=value, got {text!r}")
        options[option.strip().replace("-", "_")] = _read(value.strip())
    return options


def _read(value: str) -> Any:
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value  # plain text such as growing or theory


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _own_class(place: str) -> type[Policy]:
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except ImportError as error:
        raise NotFoundError(
            f"`policy` {place!r} names no policy and no module: {error}; the policies are "
            f"{', '.join(POLICIES)}"
        ) from None
    except AttributeError:
        raise NotFoundError(f"`policy` {place!r}: the module has no {name!r}") from None
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InputError(f"`policy` {place!r} must be a class made from variegate.Policy")
    return found
