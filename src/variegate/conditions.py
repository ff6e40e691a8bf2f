"""Conditions on the attributes of items: JSON such as ``{"attribute": "price", "<=": 20}``.

`parse_condition` makes a tree of a condition; `variegate.model.filters` evaluates it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Final, TypeAlias

from variegate.errors import InputError, join_problems

#: The comparisons of an attribute, as a condition writes them.
OPERATORS: Final = ("=", "in", "not in", "<", "<=", ">", ">=", "exists")
#: Limits of one condition: it is stored with each slate that was made under it.
MAX_DEPTH: Final = 20
MAX_TESTS: Final = 100
MAX_VALUES: Final = 10_000
_FORM: Final = (
    'an object such as {"attribute": "price", "<=": 20}, {"and": [...]}, {"or": [...]} or '
    '{"not": {...}}'
)
_ANY: Final = (frozenset({bool, str, int, float}), "text, a number, true or false")
_ORDERED: Final = (frozenset({str, int, float}), "a number or text")
#: The types of values that an operator takes, and what errors call them
_KINDS: Final = {
    "=": _ANY,
    **dict.fromkeys(("<", "<=", ">", ">="), _ORDERED),
    "exists": (frozenset({bool}), "true or false"),
}
_ABSTRACT: Final[Mapping[type, Any]] = {bool: bool, str: str, int: Integral, float: Real}

Scalar: TypeAlias = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison of an attribute: an operator of `OPERATORS` with its value.

    ``in`` and ``not in`` have a tuple of values, ``exists`` true or false.
    """

    attribute: str
    operator: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Holds where every part does."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds where at least one part does."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Holds where its part does not."""

    part: "Condition"


Condition: TypeAlias = Test | AllOf | AnyOf | Not


def parse_condition(plain: Any, name: str = "where") -> Condition:
    """Return the tree of a condition, or raise InputError with everything that is wrong with it.

    Parameters
    ----------
    plain
        ``{"attribute": name}`` with any of `OPERATORS`, which must all hold; ``{"and": [...]}``,
        ``{"or": [...]}`` of one condition or more; ``{"not": {...}}``.
    name
        What errors call it.

    Examples
    --------
    >>> parse_condition({"attribute": "price", "<=": 20})
    Test(attribute='price', operator='<=', value=20)
    >>> parse_condition({"not": {"attribute": "tags", "in": ["used", "broken"]}})
    Not(part=Test(attribute='tags', operator='in', value=('used', 'broken')))
    """
    parser = _Parser()
    condition = parser.parse(plain, name, MAX_DEPTH)
    for count, limit, what in (
        (parser.n_tests, MAX_TESTS, "comparisons"),
        (parser.n_values, MAX_VALUES, "values"),
    ):
        if count > limit:
            parser.problems.append(f"`{name}` must have at most {limit} {what}, got {count}")
    if parser.problems:
        raise InputError(join_problems(parser.problems))
    return condition


def condition_key(plain: Mapping[str, Any]) -> str:
    """Return a text that only equal conditions have; as in JSON, 1 does not equal true."""
    return json.dumps(plain, default=repr, skipkeys=True)


class _Parser:
    """Parses one condition and collects what is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.n_tests = self.n_values = 0

    def parse(self, plain: Any, name: str, depth: int) -> Condition:
        """Return the tree; with problems, any tree."""
        if depth == 0:
            return self._refuse(f"`{name}` must be nested less deeply, at most {MAX_DEPTH} levels")
        if not isinstance(plain, Mapping) or not plain:
            return self._refuse(f"`{name}` must be {_FORM}, got {_shown(plain)}")
        if "attribute" in plain:
            return self._comparison(plain, name)
        kind, *others = plain
        if others or kind not in ("and", "or", "not"):
            what = "several keys" if others else f"the key {_shown(kind)}"
            return self._refuse(f"`{name}` must be {_FORM}, got {what}")
        if kind == "not":
            return Not(self.parse(plain[kind], f"{name}.not", depth - 1))
        parts = plain[kind]
        if not isinstance(parts, (list, tuple)) or not parts:
            return self._refuse(
                f"`{name}.{kind}` must be a list of at least one condition, got {_shown(parts)}"
            )
        found = tuple(
            self.parse(part, f"{name}.{kind}.{at}", depth - 1) for at, part in enumerate(parts)
        )
        return AllOf(found) if kind == "and" else AnyOf(found)

    def _comparison(self, plain: Mapping[str, Any], name: str) -> Condition:
        attribute = plain["attribute"]
        if not isinstance(attribute, str) or not attribute:
            self._refuse(f"`{name}.attribute` must be text, got {_shown(attribute)}")
        tests: list[Condition] = []
        for operator, value in plain.items():
            if operator == "attribute":
                continue
            if operator not in OPERATORS:
                self._refuse(
                    f"`{name}` must compare by one of {', '.join(OPERATORS)}, got "
                    f"{_shown(operator)}"
                )
                continue
            self.n_tests += 1
            tests.append(
                Test(str(attribute), operator, self._value(f"{name}.{operator}", operator, value))
            )
        if not tests:
            return self._refuse(f"`{name}` must compare by at least one of {', '.join(OPERATORS)}")
        return tests[0] if len(tests) == 1 else AllOf(tuple(tests))

    def _value(self, name: str, operator: str, value: Any) -> Scalar | tuple[Scalar, ...]:
        if operator in ("in", "not in"):
            if not isinstance(value, (list, tuple)):
                self._refuse(f"`{name}` must be a list of values, got {_shown(value)}")
                return ()
            self.n_values += len(value)
            return tuple(self._scalar(f"{name}.{at}", "=", one) for at, one in enumerate(value))
        self.n_values += 1
        return self._scalar(name, operator, value)

    def _scalar(self, name: str, operator: str, value: Any) -> Scalar:
        """Return a value as one of Python's own types."""
        kinds, what = _KINDS[operator]
        for kind in (bool, str, int, float):
            # NumPy's numbers are registered as these.
            if isinstance(value, _ABSTRACT[kind]):
                if kind in kinds and (kind is not float or isfinite(value)):
                    return kind(value)
                break
        hint = ": `exists` finds items without a value" if value is None else ""
        self._refuse(f"`{name}` must be {what}, got {_shown(value)}{hint}")
        return False

    def _refuse(self, problem: str) -> Condition:
        self.problems.append(problem)
        return AllOf(())


def _shown(value: Any) -> str:
    """Return a value as JSON writes it, shortened."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
