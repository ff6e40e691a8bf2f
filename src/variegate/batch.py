"""Lists for all users of a table, written to Parquet in parts: for mails, or to fill a cache."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.data.table_reader import check_columns, check_polars, scan_table
from variegate.errors import DataError, InputError
from variegate.evaluation.parallel import Shared, Workers, parallel_map, share
from variegate.evaluation.progress import Progress, show_progress
from variegate.files import PathLike, as_path, atomic_write
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy, PolicySpec, parse_policy

if TYPE_CHECKING:
    import polars as pl

#: Rows of the table per part, about: what is in memory at a time.
PART_ROWS: Final = 2_000_000
#: Users per job of a worker.
JOB_USERS: Final = 500
#: The settings of a run are beside its folder: in it, polars would take them for a part.
SETTINGS_SUFFIX: Final = ".settings.json"


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of the table hold what."""

    user: str = "user"
    #: Without it in the table, every user is new
    item: str = "item"
    #: From 0 to 1; without it in the table, every row is a like
    reward: str = "reward"


@dataclass(frozen=True)
class BatchResult:
    """What `recommend_all` did."""

    #: Users with a list, of whom some were there from an earlier run
    users: int
    #: Users whose list was made in this run
    made: int
    #: Rows whose item is not in the catalogue
    unknown_items: int


class _History(NamedTuple):
    """What one user did, as rows of the catalogue."""

    user: str
    items: IndexArray
    rewards: FloatArray


def recommend_all(
    catalogue: Catalogue,
    users: PathLike,
    out: PathLike,
    *,
    policy: str = "lmdp",
    k: int = 10,
    columns: Columns | None = None,
    allow_repeats: bool = False,
    workers: Workers = 1,
    part_rows: int = PART_ROWS,
    progress: bool | Progress = True,
) -> BatchResult:
    """Make a list for every user of a table, and write them to a folder of Parquet files.

    Every user's policy learns the user's rows of the table and makes one list. Memory depends on
    `part_rows`, not on the size of the table. A run that was interrupted goes on where it stopped:
    parts that are complete are not made again. The result does not depend on `workers`.

    Parameters
    ----------
    users
        A Parquet or CSV file with one row per interaction; see `Columns`.
    out
        The folder to write: one row per user, with the columns ``user``, ``items`` and ``scores``.
    policy
        As text, such as ``"lmdp:prior=prior.npz"``.
    allow_repeats
        Whether to recommend items of the user's rows again.
    workers
        The number of processes, or ``"ray"``, or the address of a Ray cluster.
    part_rows
        Rows of the table per part, about.
    """
    check_count(k, len(catalogue), of="the items of the catalogue")
    check_count(part_rows, 10**9, name="part_rows", of="the most that make sense")
    (spec := parse_policy(policy))(catalogue)  # wrong options are an error here
    table, folder = _Table.open(as_path(users), columns or Columns()), as_path(out)
    parts = max(1, -(-table.rows // part_rows))
    settings = {
        "policy": str(spec),
        "k": k,
        "allow_repeats": allow_repeats,
        "parts": parts,
        "rows": table.rows,
        "columns": asdict(table.columns),
        "catalogue": catalogue.fingerprint.to_json(),
    }
    _claim(folder, settings)
    done = made = unknown = 0
    with show_progress(progress) as show, share([(catalogue, spec)], workers) as (shared,):
        for number in range(parts):
            file = folder / f"part-{number:05d}.parquet"
            if file.exists():
                done += _height(file)
                continue
            histories, missing = table.part(number, parts, catalogue)
            shown = partial(show, f"Part {number + 1} of {parts}")
            _write(file, _lists(histories, shared, settings, workers, shown))
            made, unknown = made + len(histories), unknown + missing
    return BatchResult(done + made, made, unknown)


@dataclass(frozen=True)
class _Table:
    """A table of interactions that is read in parts, by a hash of the user."""

    path: Path
    columns: Columns
    names: tuple[str, ...]
    rows: int

    @classmethod
    def open(cls, path: Path, columns: Columns) -> "_Table":
        check_polars()
        import polars as pl

        try:
            names = tuple(scan_table(path, "users").collect_schema().names())
            check_columns(str(path), names, [columns.user])
            rows = int(scan_table(path, "users").select(pl.len()).collect().item())
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
        return cls(path, columns, names, rows)

    def part(self, number: int, parts: int, catalogue: Catalogue) -> tuple[list[_History], int]:
        """Return the users of one part, sorted, and how many rows had an unknown item."""
        import polars as pl

        user = pl.col(self.columns.user).cast(pl.String)
        wanted = (
            scan_table(self.path, "users")
            .with_row_index("order")
            .select("order", user.alias("user"), self._item(), self._reward())
        )
        rows = wanted.filter(
            pl.col("user").is_not_null() & (pl.col("user").hash(seed=0) % parts == number)
        )
        ids = pl.DataFrame({"item": catalogue.ids, "row": np.arange(len(catalogue))})
        found = rows.join(ids.lazy(), on="item", how="left").collect(engine="streaming")
        if found["reward"].is_between(0.0, 1.0).not_().any():
            raise DataError(f"{self.path}: `{self.columns.reward}` must be from 0 to 1 in each row")
        missing = found.filter(pl.col("item").is_not_null() & pl.col("row").is_null()).height
        known = found.filter(pl.col("row").is_not_null()).sort("order")
        grouped = (
            found.select("user")
            .unique()
            .join(
                known.group_by("user", maintain_order=True).agg("row", "reward"),
                on="user",
                how="left",
            )
        )
        histories = [
            _History(name, np.array(items or (), np.intp), np.array(rewards or (), np.float64))
            for name, items, rewards in grouped.sort("user").iter_rows()
        ]
        return histories, missing

    def _item(self) -> "pl.Expr":
        import polars as pl

        name, is_there = self.columns.item, self.columns.item in self.names
        return (pl.col(name).cast(pl.String) if is_there else pl.lit(None, pl.String)).alias("item")

    def _reward(self) -> "pl.Expr":
        import polars as pl

        name, is_there = self.columns.reward, self.columns.reward in self.names
        return (pl.col(name).cast(pl.Float64) if is_there else pl.lit(1.0)).alias("reward")


def _claim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make the folder, or check that the parts in it have the same settings."""
    file = folder.with_name(folder.name + SETTINGS_SUFFIX)
    if not file.exists():
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


def _lists(
    histories: Sequence[_History],
    shared: Shared[tuple[Catalogue, PolicySpec]],
    settings: Mapping[str, Any],
    workers: Workers,
    progress: Callable[[int, int], None],
) -> "pl.DataFrame":
    """Return the lists of these users, in their order."""
    import polars as pl

    starts = range(0, len(histories), JOB_USERS)
    how = {name: settings[name] for name in ("k", "allow_repeats")}
    jobs = [(shared, how, histories[start : start + JOB_USERS]) for start in starts]
    found: dict[int, list[tuple[list[str], list[float]]]] = {}
    count = 0
    for number, lists in parallel_map(_recommend, jobs, workers=workers):
        found[number] = lists
        progress(count := count + len(lists), len(histories))
    pairs = [pair for number in sorted(found) for pair in found[number]]
    return pl.DataFrame(
        {
            "user": [one.user for one in histories],
            "items": [ids for ids, _ in pairs],
            "scores": [scores for _, scores in pairs],
        },
        schema={"user": pl.String, "items": pl.List(pl.String), "scores": pl.List(pl.Float64)},
    )


def _recommend(
    shared: Shared[tuple[Catalogue, PolicySpec]],
    how: Mapping[str, Any],
    histories: Sequence[_History],
) -> list[tuple[list[str], list[float]]]:
    catalogue, spec = shared.get()
    return [_list_of(spec(catalogue), one, **how) for one in histories]


def _list_of(
    policy: Policy, history: _History, *, k: int, allow_repeats: bool
) -> tuple[list[str], list[float]]:
    if len(history.items):
        policy.learn_relevance(history.items, history.rewards)
    seen = np.zeros(0, dtype=np.intp) if allow_repeats else np.unique(history.items)
    left = len(policy.catalogue) - len(seen)
    if not left:
        return [], []
    rng = np.random.default_rng(list(history.user.encode()))
    slate = policy.recommend(min(k, left), exclude=seen, rng=rng)
    return list(slate.ids), slate.scores.tolist()


def _write(file: Path, lists: "pl.DataFrame") -> None:
    with atomic_write(file) as target:
        lists.write_parquet(target)


def _height(file: Path) -> int:
    import polars as pl

    return int(pl.scan_parquet(file).select(pl.len()).collect().item())
