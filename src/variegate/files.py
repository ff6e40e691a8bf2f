"""Atomic writes, and reading of files and archives, which are checked before unpacking."""

import csv
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from lzma import LZMAError
from math import prod
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from variegate.errors import DataError, InputError, VariegateError

if TYPE_CHECKING:
    from _csv import Reader

#: Archives that unpack to at most this many bytes are read, whatever their own size.
ALWAYS_READ: Final = 256 * 2**20
#: Maximum compression ratio of larger archives. Ratings compress 10 times, tables of mostly
#: zeros 200 times; a decompression bomb 1,000 times and more.
MAX_RATIO: Final = 300

#: What np.load, zipfile and json raise for a file that is truncated, damaged or something else
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
#: What makes a file that is missing.
_ADVICE: Final = {
    "catalogue": " (`variegate build` makes one)",
    "prior": " (`variegate fit-prior` makes one)",
}
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@contextmanager
def open_npz(source: str | Path | bytes, what: str, where: object = None) -> Iterator[NpzFile]:
    """Open an .npz file; whatever is wrong with it is a DataError.

    Sizes are checked before anything is unpacked. Nothing is unpickled.

    Parameters
    ----------
    source
        The path of the file, or its contents.
    what
        What the file should be, for example "catalogue".
    where
        The name of the file in errors; its path by default.
    """
    path = where if where is not None else source
    try:
        # np.load leaves a file open that it cannot read, unless the caller opened it.
        with io.BytesIO(source) if isinstance(source, bytes) else Path(source).open("rb") as file:
            if file.read(2) != b"PK":
                raise DataError(f"{path}: not a complete {what} file: it is not an archive")
            with zipfile.ZipFile(file) as archive:
                check_sizes(path, file, archive.infolist())
                _check_arrays(path, archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except FileNotFoundError:
        raise DataError(f"no {what} at {path}{_ADVICE.get(what, '')}") from None
    except VariegateError:
        raise
    except BROKEN as error:
        raise DataError(f"{path}: not a complete {what} file: {error}") from None


@dataclass(frozen=True)
class FileFormat:
    """A format of .npz files: arrays, and a header of JSON values with the format's version.

    Parameters
    ----------
    name
        What a file holds, such as "catalogue".
    remedy
        What to do with a file of another version.
    """

    name: str
    version: int
    remedy: str

    def write(
        self,
        file: IO[bytes],
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        *,
        compress: bool = False,
    ) -> None:
        """Write a file; a header that JSON cannot hold raises TypeError or ValueError."""
        marked = {"format": f"variegate {self.name}", "version": self.version, **header}
        text = np.frombuffer(json.dumps(marked, allow_nan=False).encode(), dtype=np.uint8)
        save = np.savez_compressed if compress else np.savez
        save(file, allow_pickle=False, header=text, **arrays)

    @contextmanager
    def open(
        self, source: str | Path | bytes, where: object = None
    ) -> Iterator[tuple[dict[str, Any], NpzFile]]:
        """Yield the header and the arrays of a file; see `open_npz` for errors."""
        path = where if where is not None else source
        with open_npz(source, self.name, where) as arrays:
            header: dict[str, Any] = json.loads(arrays["header"].tobytes())
            if header.get("format") != f"variegate {self.name}":
                raise DataError(f"{path}: not a file of variegate's {self.name} format")
            if (version := header.get("version")) != self.version:
                raise DataError(
                    f"{path}: version {version} of the {self.name} format, and this variegate "
                    f"reads version {self.version}: {self.remedy}"
                )
            yield header, arrays


def check_sizes(path: object, file: IO[bytes], members: Iterable[zipfile.ZipInfo]) -> None:
    """Raise DataError if the files inside an archive unpack to more than is read.

    The declared sizes are enough: zipfile unpacks no more than they say.
    """
    size = file.seek(0, os.SEEK_END)
    limit, total = max(ALWAYS_READ, MAX_RATIO * size), 0
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
        return  # np.load refuses it with its own message, and reads nothing
    declared = file.tell() + prod(shape) * dtype.itemsize
    if declared != size or not dtype.itemsize:
        raise DataError(
            f"{name} declares an array of shape {shape} and {dtype}, which takes {declared:,} "
            f"bytes, and has {size:,}"
        )


@contextmanager
def atomic_write(path: str | Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` only if no error was raised.

    Only its owner can read and write a `private` file.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if private:
            # One that is there already would keep its mode.
            temporary.unlink(missing_ok=True)
            temporary.touch(0o600, exist_ok=False)
        file = temporary.open("wb")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
        temporary.replace(target)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


PathLike: TypeAlias = str | Path

#: What zipfile raises for truncated, damaged or encrypted archives
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
    LZMAError,
    struct.error,
    zlib.error,
)


def as_path(path: Any) -> Path:
    """Return `path` as a Path, or raise InputError if it cannot be one.

    A path that the system cannot look up raises DataError.
    """
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise InputError(f"`path` must be the path of a file or folder, got {path!r}")
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # reported where the file is read
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"`path` must be text that can name a file, got {path!r}") from None
    return Path(path)


def read_file(path: PathLike) -> tuple[bytes, str]:
    """Return the bytes of a file, and its name for errors."""
    file = as_path(path)
    if file.is_dir():
        raise DataError(f"{file}: expected a file, got a folder")
    try:
        return file.read_bytes(), str(file)
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None


def csv_records(reader: "Reader") -> Iterator[tuple[int, list[str] | csv.Error]]:
    """Yield the number and the fields of each line that is not blank, or what is wrong with it.

    A record may have several lines; its number is that of the first, from 1.
    """
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield number, error
            continue
        if fields:
            yield number, fields


def read_member(path: PathLike, name: str, *, inner: str | None = None) -> tuple[bytes, str]:
    """Return the bytes of the file `name` of a data set, and its name for errors.

    `path` is the zip file, or the folder it was unpacked to; the file may be in a subfolder,
    which is called `inner` in an unpacked folder. Nothing is unpacked to disk.
    """
    source = as_path(path)
    if source.is_dir():
        folders = [source, source / inner] if inner else [source]
        for folder in folders:
            if (folder / name).is_file():
                return read_file(folder / name)
        raise DataError(f"{source}: no `{name}` in this folder")
    if not source.exists():
        raise DataError(f"{source}: no such file or folder")
    try:
        with source.open("rb") as file, zipfile.ZipFile(file) as archive:
            member = _member(archive, name)
            if member is None:
                raise DataError(f"{source}: no `{name}` in this zip")
            check_sizes(source, file, [archive.getinfo(member)])
            return archive.read(member), f"{source}/{member}"
    except DataError:
        raise
    except _ZIP_ERRORS as error:
        raise DataError(f"{source}: not a complete zip file: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> str | None:
    """Return the entry called `name` with the shortest path."""
    named = [
        entry
        for entry in archive.namelist()
        if PurePosixPath(entry).name == name and not entry.startswith("__MACOSX/")
    ]
    return min(named, key=lambda entry: entry.count("/"), default=None)
