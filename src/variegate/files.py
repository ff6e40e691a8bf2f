"""Files that are there whole or not at all, and archives that are no larger than they say."""

import io
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, BinaryIO, Final

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile

from variegate.errors import DataError, VariegateError

#: Archives that unpack to so many bytes are read, however small they are.
ALWAYS_READ: Final = 256 * 2**20
#: Bytes that larger ones may unpack to for each of their own. Ratings come to 10 and tables of
#: mostly zeros to 200; a file that is made to fill the memory comes to 1,000 and more.
LARGEST_RATIO: Final = 300

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
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@contextmanager
def stored_arrays(source: str | Path | bytes, what: str, where: object = None) -> Iterator[NpzFile]:
    """Give the arrays that np.savez wrote; whatever is wrong with them is a DataError.

    Sizes are checked before anything is unpacked. Nothing is unpickled.

    Parameters
    ----------
    source
        The path of the file, or what it holds.
    what
        What the file should be, as in "catalogue".
    where
        What errors call the file; its path, if not given.
    """
    path = where if where is not None else source
    try:
        # np.load leaves a file open that it cannot read, unless the file is not its own.
        with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
            if file.read(2) != b"PK":
                raise DataError(f"{path}: not a whole {what} file: it is no archive")
            with zipfile.ZipFile(file) as archive:
                check_sizes(path, file, archive.infolist())
                _check_arrays(path, archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except FileNotFoundError:
        raise DataError(f"no {what} at {path}") from None
    except VariegateError:
        raise
    except BROKEN as error:
        raise DataError(f"{path}: not a whole {what} file: {error}") from None


def check_sizes(path: object, file: IO[bytes], members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise DataError if the files inside an archive unpack to more than is read.

    By what the archive says of them: zipfile unpacks no more than that.
    """
    size = file.seek(0, os.SEEK_END)
    limit, total = max(ALWAYS_READ, LARGEST_RATIO * size), 0
    for member in members:
        total += member.file_size
        if total > limit:
            raise DataError(
                f"{path}: `{member.filename}` unpacks to {member.file_size:,} bytes, and an "
                f"archive of {size:,} bytes must unpack to at most {limit:,}"
            )


def _check_arrays(path: object, archive: zipfile.ZipFile) -> None:
    """Raise DataError unless each array inside is as large as its own header says."""
    for member in archive.infolist():
        name = f"{path}: `{member.filename}`"
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{name} must be stored or deflated, got {member.compress_type}")
        if member.filename.endswith(".npy"):
            with archive.open(member) as file:
                check_declared(name, file, member.file_size)


def check_declared(name: str, file: IO[bytes], size: int) -> None:
    """Raise DataError unless an .npy file of `size` bytes holds the array that it declares."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise DataError(f"{name} must have version 1.0 or 2.0 of the .npy format, got {version}")
    shape, _fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        return  # np.load says what is wrong with it, and reads nothing
    declared = file.tell() + prod(shape) * dtype.itemsize
    if declared != size or not dtype.itemsize:
        raise DataError(
            f"{name} declares an array of shape {shape} and {dtype}, which takes {declared:,} "
            f"bytes, and has {size:,}"
        )


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
