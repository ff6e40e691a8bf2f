"""The exceptions of this package.

    VariegateError
    ├── InputError      (ValueError)   an argument is not what it must be
    ├── DataError       (ValueError)   a file is missing, broken or of another format
    ├── StateError      (ValueError)   a learner's state does not fit this policy
    ├── NotFoundError   (LookupError)  an unknown id or name
    ├── ConflictError   (ValueError)   a request contradicts what is stored
    ├── StoreError      (RuntimeError) the store cannot be read or written now
    │   └── OutcomeUnknownError        ... and it is unknown whether the change was made
    └── MissingExtraError (ImportError) an optional dependency is not installed

Each is also the builtin that a caller would expect. A message names the argument in
backticks, then what is valid, then what was given.
"""

from collections.abc import Sequence
from typing import Final

__all__ = [
    "ConflictError",
    "DataError",
    "InputError",
    "MissingExtraError",
    "NotFoundError",
    "OutcomeUnknownError",
    "StateError",
    "StoreError",
    "VariegateError",
    "join_problems",
]

_MAX_PROBLEMS: Final = 10


class VariegateError(Exception):
    """The base class of all exceptions of this package."""


class InputError(VariegateError, ValueError):
    """An argument is not what it must be."""


class DataError(VariegateError, ValueError):
    """A file is missing, broken or of another format."""


class StateError(VariegateError, ValueError):
    """A learner's state does not fit this policy."""


class NotFoundError(VariegateError, LookupError):
    """An unknown id or name."""


class ConflictError(VariegateError, ValueError):
    """A request contradicts what is stored."""


class StoreError(VariegateError, RuntimeError):
    """The store cannot be read or written now; nothing was changed."""


class OutcomeUnknownError(StoreError):
    """The change may or may not have been made: the response to its commit was lost or late.

    An idempotent request can be sent again; for others, read before repeating.
    """


class MissingExtraError(VariegateError, ImportError):
    """An optional dependency is not installed."""


def join_problems(problems: Sequence[str]) -> str:
    """Return all that is wrong with a request as one message; of a long list, the first ones."""
    shown = "; ".join(problems[:_MAX_PROBLEMS])
    rest = len(problems) - _MAX_PROBLEMS
    return f"{shown} (and {rest} more)" if rest > 0 else shown
