"""Data sets from their publisher."""

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from variegate.arrays import check_choice, check_positive
from variegate.datasets.download import download
from variegate.datasets.folders import advice, data_folder, places
from variegate.datasets.registry import DATASETS, KnownDataset
from variegate.datasets.sources import PathLike, as_path, read_member
from variegate.errors import DataError

#: Is told how many bytes are there, and how many there will be if that is known
Progress: TypeAlias = Callable[[int, int | None], None]


def fetch(
    name: str,
    *,
    folder: PathLike | None = None,
    progress: Progress | None = None,
    url: str | None = None,
    timeout: float = 30.0,
) -> Path:
    """Download a data set unless it is there, check its content, and return its path.

    An interrupted download leaves a file that ends in .part, from which the next goes on.
    The zip takes its place only when the files inside are the ones expected.

    Parameters
    ----------
    name
        One of `DATASETS`; for one behind a login, DataError says how to get it.
    folder
        Where to keep it; `data_folder()` if not given.
    url
        A mirror, if not the publisher's own.
    timeout
        Seconds of silence after which the network counts as gone.
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
    """Let a zip be received beside `target`, and move it there if its content is right."""
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    receive(part)
    if resumed and _fault(part, known) is not None:
        # What was left from before belonged to something else: once more, from the start.
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
    """Return what is wrong with the content of a zip or folder, or None."""
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
