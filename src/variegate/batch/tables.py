"""Lists for all users of a table, written to Parquet in parts: for mails, or to fill a cache."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from variegate.arrays import FloatArray, IndexArray, check_count
from variegate.batch.folder import (
    BatchResult,
    IdsAndScores,
    claim,
    height_of,
    lists_of,
    part_file,
    write_part,
)
from variegate.data.table_reader import (
    check_columns,
    check_flat,
    check_polars,
    scan_table,
    without_id,
)
from variegate.errors import DataError
from variegate.evaluation.parallel import Shared, Workers, share
from variegate.evaluation.progress import Progress, show_progress
from variegate.files import PathLike, as_path
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy, PolicySpec, parse_policy

if TYPE_CHECKING:
    import polars as pl

#: Rows of the table per part, about: what is in memory at a time.
PART_ROWS: Final = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of the table hold what."""

    user: str = "user"
    #: Without it in the table, every user is new
    item: str = "item"
    #: From 0 to 1; without it in the table, every row is a like
    reward: str = "reward"


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
    claim(folder, settings)
    done = made = unknown = 0
    with show_progress(progress) as show, share([(catalogue, spec)], workers) as (shared,):
        for number in range(parts):
            file = part_file(folder, number)
            if file.exists():
                done += height_of(file)
                continue
            histories, missing = table.part(number, parts, catalogue)
            shown = partial(show, f"Part {number + 1} of {parts}")
            write_part(file, _lists(histories, shared, settings, workers, shown))
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
            table = scan_table(path, "users")
            schema = table.collect_schema()
            check_columns(str(path), schema.names(), [columns.user])
            used = [one for one in asdict(columns).values() if one in schema]
            check_flat(str(path), schema, used)
            wrong = [without_id(columns.user)]
            if columns.reward in schema:
                wrong.append(_without_reward(columns.reward))
            rows, *counts = table.select(pl.len(), *wrong).collect(engine="streaming").row(0)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None
        wanted = {columns.user: "an id", columns.reward: "a number from 0 to 1"}
        for (name, needed), count in zip(wanted.items(), counts, strict=False):
            if count:
                raise DataError(
                    f"{path}: column `{name}` must hold {needed} in each row, {count} do not"
                )
        return cls(path, columns, tuple(schema.names()), rows)

    def part(self, number: int, parts: int, catalogue: Catalogue) -> tuple[list[_History], int]:
        """Return the users of one part, sorted, and how many rows had an unknown item."""
        import polars as pl

        user = pl.col(self.columns.user).cast(pl.String)
        wanted = (
            scan_table(self.path, "users")
            .with_row_index("order")
            .select("order", user.alias("user"), self._item(), self._reward())
        )
        rows = wanted.filter(pl.col("user").hash(seed=0) % parts == number)
        ids = pl.DataFrame({"item": catalogue.ids, "row": np.arange(len(catalogue))})
        found = rows.join(ids.lazy(), on="item", how="left").collect(engine="streaming")
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


def _without_reward(name: str) -> "pl.Expr":
    import polars as pl

    numbers = pl.col(name).cast(pl.Float64, strict=False)
    return numbers.is_between(0.0, 1.0).fill_null(value=False).not_().sum().alias(name)


def _lists(
    histories: Sequence[_History],
    shared: Shared[tuple[Catalogue, PolicySpec]],
    settings: Mapping[str, Any],
    workers: Workers,
    progress: Callable[[int, int], None],
) -> "pl.DataFrame":
    """Return the lists of these users, in their order."""
    how = {name: settings[name] for name in ("k", "allow_repeats")}
    users = [one.user for one in histories]
    return lists_of(users, _recommend, (shared, how), histories, workers, progress)


def _recommend(
    shared: Shared[tuple[Catalogue, PolicySpec]],
    how: Mapping[str, Any],
    histories: Sequence[_History],
) -> list[IdsAndScores]:
    catalogue, spec = shared.get()
    return [_list_of(spec(catalogue), one, **how) for one in histories]


def _list_of(policy: Policy, history: _History, *, k: int, allow_repeats: bool) -> IdsAndScores:
    if len(history.items):
        policy.learn_relevance(history.items, history.rewards)
    seen = np.zeros(0, dtype=np.intp) if allow_repeats else np.unique(history.items)
    left = len(policy.catalogue) - len(seen)
    if not left:
        return [], []
    rng = np.random.default_rng(list(history.user.encode()))
    slate = policy.recommend(min(k, left), exclude=seen, rng=rng)
    return list(slate.ids), slate.scores.tolist()
