"""Files as they come: alone, in a folder, in a zip."""

import os
import struct
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from variegate.errors import DataError, InputError
from variegate.files import check_sizes

PathLike: TypeAlias = str | Path

#: What zipfile raises for archives that are cut off, damaged or locked
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

    A path at which the system cannot even look raises DataError.
    """
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise InputError(f"`path` must be the path of a file or folder, got {path!r}")
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # said where the file is read, with what was looked for
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"`path` must be text that can name a file, got {path!r}") from None
    return Path(path)


def read_file(path: PathLike) -> tuple[bytes, str]:
    """Return what a single file holds, and its name for errors."""
    file = as_path(path)
    if file.is_dir():
        raise DataError(f"{file}: expected a file, got a folder")
    try:
        return file.read_bytes(), str(file)
    except FileNotFoundError:
        raise DataError(f"{file}: no such file") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from None


def read_member(path: PathLike, name: str, *, inner: str | None = None) -> tuple[bytes, str]:
    """Return what the file `name` of a data set holds, and its name for errors.

    `path` is the zip as it comes, or the folder it was unpacked to; the file may stand
    in a folder inside, which is called `inner` where the zip was unpacked. Nothing is
    unpacked to disk.
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
        raise DataError(f"{source}: not a whole zip file: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> str | None:
    """Return the entry called `name` that lies least deep."""
    named = [
        entry
        for entry in archive.namelist()
        if PurePosixPath(entry).name == name and not entry.startswith("__MACOSX/")
    ]
    return min(named, key=lambda entry: entry.count("/"), default=None)
