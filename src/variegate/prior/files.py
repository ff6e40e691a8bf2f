"""The file of a prior: an .npz archive without pickle."""

import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from variegate.errors import DataError, InputError
from variegate.files import FileFormat, atomic_write, read_file
from variegate.model.catalogue import Catalogue

FORMAT: Final = FileFormat("prior", 2, "fit it again or use the variegate that wrote it")


class PriorFile(ABC):
    """What every kind of prior has: a file, a check against a catalogue, a description.

    A kind is a dataclass. Its fields that are arrays are those of the file, and the others are in
    its header; a field with ``metadata={"in_file": False}`` is left out.
    """

    #: Marks the kind in the file
    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type["PriorFile"]]] = {}

    def __init_subclass__(cls) -> None:
        cls._kinds[cls.kind] = cls

    @property
    @abstractmethod
    def users(self) -> int:
        """Number of users that it was fitted to; 0 if it was not fitted."""

    @abstractmethod
    def check(self, catalogue: Catalogue) -> None:
        """Raise InputError unless the prior is for this catalogue."""

    @abstractmethod
    def _facts(self, catalogue: Catalogue | None) -> Iterator[tuple[str, str]]:
        """Yield what is said of relevance and of beta, each with its heading."""

    def describe(self, catalogue: Catalogue | None = None) -> tuple[str, ...]:
        """Return a description in text, one line per fact, with the titles of `catalogue`."""
        if catalogue is not None:
            self.check(catalogue)
        return (
            f"fitted to {self.users} users" if self.users else "not fitted",
            *(f"{heading}: {text}" for heading, text in self._facts(catalogue) if text),
        )

    def save(self, path: str | Path) -> None:
        """Write the prior to `path`, atomically."""
        data = self.to_bytes()
        with atomic_write(path) as file:
            file.write(data)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a prior that `save` wrote, or raise DataError."""
        return cls.from_bytes(read_file(path)[0], where=path)

    def to_bytes(self) -> bytes:
        """Return the contents of the prior's file."""
        values = {one.name: getattr(self, one.name) for one in _stored(type(self))}
        arrays = {
            name: value.astype(np.int32) if _is_small(value) else value
            for name, value in values.items()
            if isinstance(value, np.ndarray)
        }
        header = {name: value for name, value in values.items() if name not in arrays}
        file = io.BytesIO()
        FORMAT.write(file, {**header, "kind": self.kind}, arrays)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes, *, where: str | Path = "prior") -> Self:
        """Return the prior that `to_bytes` wrote; `where` names its source in errors."""
        with FORMAT.open(data, where) as (header, stored):
            arrays = {name: stored[name] for name in stored.files}
        kind = cls._kinds.get(header.get("kind", "features"))
        if kind is None or not issubclass(kind, cls):
            raise DataError(f"{where}: a prior of {header.get('kind')}, not of {cls.kind}")
        try:
            return kind(**{one.name: {**header, **arrays}[one.name] for one in _stored(kind)})
        except KeyError as error:
            raise DataError(f"{where}: not a complete prior file: no {error.args[0]}") from None
        except (InputError, TypeError) as error:
            raise DataError(f"{where}: not a complete prior file: {error}") from None


def _is_small(array: NDArray[Any]) -> bool:
    return bool(array.dtype.kind == "i" and array.max(initial=0) < 2**31)


def _stored(kind: Any) -> Iterator[Field[Any]]:
    return (one for one in fields(kind) if one.metadata.get("in_file", True))
