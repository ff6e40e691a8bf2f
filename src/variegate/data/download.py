"""One file over HTTP, gone on with where it broke off."""

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from variegate.errors import DataError, InputError
from variegate.files import check_sizes

_CHUNK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


def download(
    url: str,
    part: Path,
    *,
    progress: Callable[[int, int | None], None] | None,
    timeout: float,
    otherwise: str,
) -> None:
    """Write what `url` gives to `part`, after what is there if the server can go on.

    A download that breaks off raises DataError and leaves what came in `part`. `otherwise`
    is what a person can do where there is no network.
    """
    if not re.match(r"https?://[^/\s]", url):
        raise InputError(f"`url` must begin with http:// or https://, got {url!r}")
    have = part.stat().st_size if part.exists() else 0
    try:
        with _opened(url, have, timeout) as response:
            done, total = _received(response, part, have, progress)
    except HTTPError as error:
        error.close()
        if error.code != _RANGE_NOT_SATISFIABLE or not have:
            raise DataError(f"{url}: the server says {error.code} {error.reason}") from None
        # There is nothing after what we have: it is whole, or it is of something else.
        return
    except (OSError, HTTPException, UnicodeError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: cannot be fetched ({reason}): {otherwise}") from None
    if total is not None and done < total:
        raise DataError(f"{url}: broke off after {done} of {total} bytes: run it again to go on")


def _opened(url: str, have: int, timeout: float) -> HTTPResponse:
    headers = {"User-Agent": "variegate", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)  # noqa: S310
    return response


def _received(
    response: HTTPResponse,
    part: Path,
    have: int,
    progress: Callable[[int, int | None], None] | None,
) -> tuple[int, int | None]:
    """Write the body and return how many bytes are there, and how many there should be."""
    goes_on = bool(have) and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    done = have if goes_on else 0
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    try:
        file = part.open("ab" if goes_on else "wb")
    except OSError as error:
        raise DataError(f"{part}: cannot be written: {error.strerror}") from None
    with file:
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    return done, total


# Files as they come: alone, in a folder, in a zip.


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
        raise DataError(f"{source}: not a complete zip file: {error}") from None


def _member(archive: zipfile.ZipFile, name: str) -> str | None:
    """Return the entry called `name` that lies least deep."""
    named = [
        entry
        for entry in archive.namelist()
        if PurePosixPath(entry).name == name and not entry.startswith("__MACOSX/")
    ]
    return min(named, key=lambda entry: entry.count("/"), default=None)
