"""JSON as the dataclasses that it stands for, checked on the way."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from variegate.errors import DataError

T = TypeVar("T")
#: Reads a value; the text says where in the answer it stands.
Reader = Callable[[Any, str], Any]

_WORDS: Final[Mapping[type, str]] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    str: "text",
}


def json_of(body: bytes) -> Any:
    """Return what a body holds, or raise DataError."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise DataError(
            "the answer must be JSON: `url` must be the address of a variegate service"
        ) from None


def reading(kind: type[T]) -> Callable[[bytes], T]:
    """Return what makes a `kind` of a body; fields that it does not know are passed over.

    Examples
    --------
    >>> from variegate.client.answers import Words
    >>> reading(Words)(b'{"likes": "You like Japan.", "variety": "", "new": 1}')
    Words(likes='You like Japan.', variety='')
    """

    def read(body: bytes) -> T:
        return part(kind, json_of(body))

    return read


def part(kind: type[T], value: Any, where: str = "") -> T:
    """Return the `kind` that a value of JSON stands for."""
    hint: Any = kind
    made: T = _reader(hint)(value, where)
    return made


def parts(kind: type[T], value: Any, where: str) -> tuple[T, ...]:
    """Return the `kind` that each of a list stands for."""
    hint: Any = kind
    made: tuple[T, ...] = _sequence(_reader(hint))(value, where)
    return made


@cache
def _reader(hint: Any) -> Reader:
    if is_dataclass(hint):
        return _object(hint)
    if get_origin(hint) is UnionType:
        (inner,) = [choice for choice in get_args(hint) if choice is not NoneType]
        return _optional(_reader(inner))
    if get_origin(hint) is tuple:
        return _sequence(_reader(get_args(hint)[0]))
    if get_origin(hint) is Mapping:
        return _mapping(_reader(get_args(hint)[1]))
    return _anything if hint is Any else _plain(hint)


def _object(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    needed = [
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    ]

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        for name in needed:
            if name not in value:
                raise _complaint(_inside(where, name), "be there")
        return kind(
            **{
                name: reader(value[name], _inside(where, name))
                for name, reader in readers.items()
                if name in value
            }
        )

    return read


def _optional(inner: Reader) -> Reader:
    return lambda value, where: None if value is None else inner(value, where)


def _sequence(inner: Reader) -> Reader:
    def read(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise _wrong(where, "a list", value)
        return tuple(inner(one, where) for one in value)

    return read


def _mapping(inner: Reader) -> Reader:
    def read(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(where, "an object", value)
        return {name: inner(one, _inside(where, name)) for name, one in value.items()}

    return read


def _plain(kind: Any) -> Reader:
    def read(value: Any, where: str) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)  # JSON does not tell 1 from 1.0
        raise _wrong(where, _WORDS[kind], value)

    return read


def _anything(value: Any, _where: str) -> Any:
    return value


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, wanted: str, value: Any) -> DataError:
    return _complaint(where, f"be {wanted}, got {value!r:.80}")


def _complaint(where: str, must: str) -> DataError:
    return DataError(
        f"the answer's `{where or 'body'}` must {must}: `url` must be the address of a variegate "
        "service, of a version that this client knows"
    )
