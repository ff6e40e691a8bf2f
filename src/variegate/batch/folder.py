"""The folder of a run: parts as Parquet files, and the settings that a run is continued with."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from variegate.data.table_reader import parquet_bytes
from variegate.errors import InputError
from variegate.evaluation.parallel import Workers, parallel_map
from variegate.files import atomic_write

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
#: The ids and the scores of a list
IdsAndScores: TypeAlias = tuple[list[str], list[float]]

#: Users per job of a worker.
JOB_USERS: Final = 500
#: The settings of a run are beside its folder: in it, polars would take them for a part.
SETTINGS_SUFFIX: Final = ".settings.json"


@dataclass(frozen=True)
class BatchResult:
    """What `recommend_all` did."""

    #: Users with a list, of whom some were there from an earlier run
    users: int
    #: Users whose list was made in this run
    made: int
    #: Rows whose item is not in the catalogue
    unknown_items: int


def claim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make the folder, or check that the parts in it have the same settings."""
    file = folder.with_name(folder.name + SETTINGS_SUFFIX)
    if not (file.exists() and folder.exists()):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"`out` must be a new folder, and {folder} holds something else")
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as target:
            target.write(json.dumps(settings, indent=1).encode())
        return
    known = json.loads(file.read_text())
    plain = json.loads(json.dumps(settings))
    differing = [name for name in plain if known.get(name) != plain[name]]
    if differing:
        raise InputError(
            f"`out` must be a new folder: {folder} was begun with another {', '.join(differing)}"
        )


def lists_of(
    users: Sequence[str],
    recommend: Callable[..., list[IdsAndScores]],
    common: tuple[Any, ...],
    known: Sequence[T],
    workers: Workers,
    progress: Callable[[int, int], None],
) -> "pl.DataFrame":
    """Return the lists of users, in their order, from what is known of each.

    `recommend` is called with `common` and what is known of some users; a function, not a partial,
    which Ray would refuse.
    """
    import polars as pl

    starts = range(0, len(known), JOB_USERS)
    jobs = [(*common, known[start : start + JOB_USERS]) for start in starts]
    found: dict[int, list[IdsAndScores]] = {}
    count = 0
    for number, lists in parallel_map(recommend, jobs, workers=workers):
        found[number] = lists
        progress(count := count + len(lists), len(known))
    pairs = [pair for number in sorted(found) for pair in found[number]]
    return pl.DataFrame(
        {
            "user": users,
            "items": [ids for ids, _ in pairs],
            "scores": [scores for _, scores in pairs],
        },
        schema={"user": pl.String, "items": pl.List(pl.String), "scores": pl.List(pl.Float64)},
    )


def part_file(folder: Path, number: int) -> Path:
    """Return the file of a part."""
    return folder / f"part-{number:05d}.parquet"


def write_part(file: Path, lists: "pl.DataFrame") -> None:
    """Write a part, completely or not at all."""
    with atomic_write(file) as target:
        target.write(parquet_bytes(lists))


def height_of(file: Path) -> int:
    """Return how many users a part has."""
    import polars as pl

    return int(pl.scan_parquet(file).select(pl.len()).collect().item())
