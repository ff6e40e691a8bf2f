"""Archives to load, and what was loaded in a form to compare."""

import zipfile
from pathlib import Path

from variegate.data.dataset import Dataset


def zipped(folder: Path, target: Path, inner: str = "") -> Path:
    """Pack the files of a folder, in the folder `inner` if one is given."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, inner + file.name)
    return target


def pairs(dataset: Dataset) -> list[tuple[str, str]]:
    """Return the likes by their ids."""
    rows = zip(dataset.users, dataset.items, strict=True)
    return [(dataset.user_ids[user], dataset.item_ids[item]) for user, item in rows]
