"""Where data sets are kept."""

import os
from contextlib import suppress
from pathlib import Path

from variegate.arrays import check_choice
from variegate.datasets.registry import DATASETS, KnownDataset
from variegate.errors import DataError, MissingExtraError

#: The environment variable that overrides the user's data folder
FOLDER_VARIABLE = "VARIEGATE_DATA"


def data_folder() -> Path:
    """Return the folder that data sets are fetched to: `VARIEGATE_DATA`, or the user's own."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    return Path(chosen).expanduser() if chosen else _user_folder()


def find(name: str) -> Path:
    """Return the zip or folder of a data set that is there, for its loader to read.

    `VARIEGATE_DATA` is looked through first, then the user's data folder. Where there is
    none, DataError says how to get it.
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
    """Return how a person gets a data set into `folder`, in one line."""
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
    # Without platformdirs the folder of VARIEGATE_DATA must do.
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
