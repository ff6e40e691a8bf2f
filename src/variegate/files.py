"""Files that are there whole or not at all."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.lib.npyio import NpzFile

from variegate.errors import DataError, VariegateError

#: What np.load, zipfile and json raise for a file that is cut off, overwritten or something else
BROKEN: Final = (
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def stored_arrays(path: str | Path, what: str) -> Iterator[NpzFile]:
    """Give the arrays of a file that np.savez wrote; whatever is wrong with it is a DataError.

    `what` says what the file should be, as in "catalogue". Nothing is unpickled.
    """
    try:
        # np.load leaves a file open that it cannot read, unless the file is not its own.
        with Path(path).open("rb") as file:
            if file.read(2) != b"PK":
                raise DataError(f"{path}: not a whole {what} file: it is no archive")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except FileNotFoundError:
        raise DataError(f"no {what} at {path}") from None
    except VariegateError:
        raise
    except BROKEN as error:
        raise DataError(f"{path}: not a whole {what} file: {error}") from None


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` only when all went well."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        file = beside.open("wb")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
        beside.replace(target)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
