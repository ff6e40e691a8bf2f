"""Everything that this package raises on purpose.

    VariegateError
    ├── InputError      (ValueError)   an argument is not what it must be
    ├── DataError       (ValueError)   a file is missing, broken or of another format
    ├── StateError      (ValueError)   a learner's state does not fit this policy
    ├── NotFoundError   (LookupError)  an id or a name that nobody knows
    ├── ConflictError   (ValueError)   what is asked contradicts what is known already
    ├── StoreError      (RuntimeError) what is kept cannot be reached or written now
    │   └── OutcomeUnknownError        the same, and whether the change was made is not known
    └── MissingExtraError (ImportError) a part that was not installed

Each is also the builtin that a caller would expect. A message names the argument in
backticks, says what would do and what came.
"""

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
]


class VariegateError(Exception):
    """The root of the tree: catch this to catch them all."""


class InputError(VariegateError, ValueError):
    """An argument is not what it must be."""


class DataError(VariegateError, ValueError):
    """A file is missing, broken or of another format."""


class StateError(VariegateError, ValueError):
    """A learner's state does not fit this policy."""


class NotFoundError(VariegateError, LookupError):
    """An id or a name that nobody knows."""


class ConflictError(VariegateError, ValueError):
    """What is asked contradicts what is known already."""


class StoreError(VariegateError, RuntimeError):
    """What is kept cannot be reached or written now; nothing was changed."""


class OutcomeUnknownError(StoreError):
    """The change may or may not have been made: the answer to its commit was lost or late.

    A request that is idempotent can be sent again; for others, read before repeating.
    """


class MissingExtraError(VariegateError, ImportError):
    """A part of the package that was not installed."""
