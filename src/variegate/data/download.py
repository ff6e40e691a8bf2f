"""The data sets known by name: where they come from, where they are stored, and their download."""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from variegate.arrays import check_choice, check_positive
from variegate.data.anime import load_anime
from variegate.data.dataset import Counts, Dataset
from variegate.data.movielens import load_movielens_1m, load_movielens_100k
from variegate.errors import DataError, InputError, MissingExtraError
from variegate.files import PathLike, as_path, read_member

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
    """Download `url` to `part`, resuming a partial download if the server supports it.

    An interrupted download raises DataError and leaves the bytes received in `part`. `otherwise`
    is advice for the error message if there is no network.
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
        # There are no more bytes: the file is complete, or it is another one.
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
    """Write the body; return the number of bytes received, and the expected number."""
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


class Loader(Protocol):
    """Reads one data set from its zip or folder."""

    def __call__(self, path: PathLike, *, threshold: float = ...) -> Dataset: ...


@dataclass(frozen=True)
class KnownDataset:
    """Where a data set comes from, how it is read, and the terms of its licence."""

    name: str
    load: Loader
    #: The file to look for in the data folder
    archive: str
    #: The folder that it is unpacked to
    folder: str
    #: Files that must be inside
    files: tuple[str, ...]
    #: Its web page
    page: str
    #: The main terms of the licence, a sentence each
    licence: tuple[str, ...]
    #: The paper's Table 1: what is left after its filter
    paper: Counts
    #: Where it can be downloaded; None if a login is required
    url: str | None = None
    #: MD5 of the files inside, since publishers sometimes rebuild the zip
    checksums: Mapping[str, str] = field(default_factory=dict)
    #: Other names of the zip, as a pattern
    also_called: str | None = None


_GROUPLENS = (
    "For research use; commercial use needs permission from GroupLens.",
    "Not to be passed on to others without separate permission.",
    "Publications must acknowledge it: F. M. Harper and J. A. Konstan, The MovieLens Datasets: "
    "History and Context, ACM TiiS 5(4), 2015.",
    "No endorsement by the University of Minnesota or GroupLens may be stated or implied.",
)

#: The data sets by name
DATASETS: Mapping[str, KnownDataset] = MappingProxyType(
    {
        known.name: known
        for known in (
            KnownDataset(
                "ml-100k",
                load_movielens_100k,
                "ml-100k.zip",
                "ml-100k",
                ("u.data", "u.item"),
                "https://grouplens.org/datasets/movielens/100k/",
                _GROUPLENS,
                Counts(942, 1_447, 55_375, 18),
                "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
                {"u.data": "6e47046882bad158b0efbb84cd5cb987"},
            ),
            KnownDataset(
                "ml-1m",
                load_movielens_1m,
                "ml-1m.zip",
                "ml-1m",
                ("ratings.dat", "movies.dat"),
                "https://grouplens.org/datasets/movielens/1m/",
                _GROUPLENS,
                Counts(6_038, 3_533, 575_281, 18),
                "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
                {"ratings.dat": "a89aa3591bc97d6d4e0c89459ff39362"},
            ),
            KnownDataset(
                "anime",
                load_anime,
                "anime.zip",
                "anime",
                ("anime.csv", "rating.csv"),
                "https://www.kaggle.com/datasets/CooperUnion/anime-recommendations-database",
                ("It comes with no licence text: see its page on Kaggle before passing it on.",),
                Counts(69_400, 8_825, 5_231_117, 44),
                also_called="anime-*.zip",
            ),
        )
    }
)


#: The environment variable that overrides the user's data folder
FOLDER_VARIABLE = "VARIEGATE_DATA"


def data_folder() -> Path:
    """Return the folder of downloaded data sets: `VARIEGATE_DATA`, or the user's data folder."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else _user_folder()


def find_dataset(name: str) -> Path:
    """Return the zip or folder of a downloaded data set, for its loader to read.

    `VARIEGATE_DATA` is searched first, then the user's data folder. If it is in neither, DataError
    explains how to get it.
    """
    known = DATASETS[check_choice("name", name, DATASETS)]
    for folder in _folders():
        for place in places(folder, known):
            return place
    raise DataError(f"{name} is not in {data_folder()}: {advice(known, data_folder())}")


def places(folder: Path, known: KnownDataset) -> list[Path]:
    """Return the zips and folders in `folder` that may be the data set, the likeliest first."""
    also = sorted(folder.glob(known.also_called)) if known.also_called else []
    zips = [place for place in (folder / known.archive, *also) if place.is_file()]
    return zips + [
        unpacked
        for unpacked in (folder / known.folder, folder)
        if all((unpacked / file).is_file() for file in known.files)
    ]


def advice(known: KnownDataset, folder: Path) -> str:
    """Return one line of advice on how to get a data set into `folder`."""
    if known.url is not None:
        return (
            f"run `variegate fetch {known.name}`, or download {known.url} "
            f"and put it there as {folder / known.archive}"
        )
    files = " and ".join(known.files)
    return (
        f"log in at {known.page}, download it, and put the zip there as "
        f"{folder / known.archive}, or {files} into {folder / known.folder}"
    )


def _folders() -> list[Path]:
    folders = [data_folder()]
    # Without platformdirs only the folder of VARIEGATE_DATA is searched.
    with suppress(MissingExtraError):
        folders.append(_user_folder())
    return folders


def _user_folder() -> Path:
    try:
        from platformdirs import user_data_dir
    except ImportError:
        raise MissingExtraError(
            f"the data folder is found with platformdirs, which is not installed: "
            f"pip install 'variegate[data]', or set {FOLDER_VARIABLE}"
        ) from None
    return Path(user_data_dir("variegate", appauthor=False))


#: Called with the number of bytes received, and the expected number if known
Progress: TypeAlias = Callable[[int, int | None], None]


def fetch_dataset(
    name: str,
    *,
    folder: PathLike | None = None,
    progress: Progress | None = None,
    url: str | None = None,
    timeout: float = 30.0,
) -> Path:
    """Download a data set unless it exists, check its content, and return its path.

    An interrupted download leaves a file that ends in .part, which the next call resumes. The zip
    is stored only if the files inside are the expected ones.

    Parameters
    ----------
    name
        One of `DATASETS`; if it requires a login, DataError explains how to get it.
    folder
        Where to store it; `data_folder()` by default.
    url
        A mirror, instead of the publisher's address.
    timeout
        Seconds without data after which the download fails.
    """
    known = DATASETS[check_choice("name", name, DATASETS)]
    check_positive(timeout=timeout)
    kept_in = data_folder() if folder is None else as_path(folder)
    target = kept_in / known.archive
    address = url or known.url
    for place in places(kept_in, known):
        if _fault(place, known) is None:
            return place
    if address is None:
        raise DataError(f"{name} cannot be fetched without a login: {advice(known, kept_in)}")
    _make(kept_in)
    by_hand = f"download {known.url or address} by hand and put it there as {target}"
    receive = partial(download, address, progress=progress, timeout=timeout, otherwise=by_hand)
    _put(target, known, receive)
    return target


def _put(target: Path, known: KnownDataset, receive: Callable[[Path], None]) -> None:
    """Receive a zip beside `target`, and move it there if its content is correct."""
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    receive(part)
    if resumed and _fault(part, known) is not None:
        # The partial download was of another file: start again.
        part.unlink()
        receive(part)
    fault = _fault(part, known)
    if fault is not None:
        part.unlink()
        raise DataError(f"{target}: what came is not {known.name}, nothing was kept: {fault}")
    try:
        part.replace(target)
    except OSError as error:
        raise DataError(f"{target}: cannot be written: {error.strerror}") from None


def _fault(place: Path, known: KnownDataset) -> str | None:
    """Return the first error in the content of a zip or folder, or None."""
    for file in known.files:
        try:
            content, _ = read_member(place, file)
        except DataError as error:
            return str(error).removeprefix(f"{place}: ")
        expected = known.checksums.get(file)
        found = hashlib.md5(content, usedforsecurity=False).hexdigest()
        if expected is not None and found != expected:
            return f"`{file}` must have the MD5 {expected}, got {found}"
    return None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from None
