"""Lists for all users of a service, from the states in its store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from variegate.arrays import IndexArray, MaskArray, check_count
from variegate.batch.folder import (
    BatchResult,
    IdsAndScores,
    claim,
    height_of,
    lists_of,
    part_file,
    write_part,
)
from variegate.data.table_reader import check_polars
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.codecs import SeenItems, hidden_rows
from variegate.engine.experiment import Experiment
from variegate.engine.terms import DAY
from variegate.evaluation.parallel import Shared, Workers, share
from variegate.evaluation.progress import Progress, show_progress
from variegate.files import PathLike, as_path
from variegate.model.catalogue import Catalogue
from variegate.store import UserRow

if TYPE_CHECKING:
    from variegate.engine.executor import Executor

#: Users of a part: their states are in memory at a time.
PART_USERS: Final = 20_000


@dataclass(frozen=True)
class _Served:
    """What lists are made with."""

    catalogue: Catalogue
    #: Which items are not retired, (L,)
    active: MaskArray
    experiment: Experiment
    k: int


@dataclass(frozen=True)
class _User:
    """A user, with the rows that their list must not have."""

    row: UserRow
    hidden: IndexArray


def recommend_all_states(
    executor: "Executor",
    out: PathLike,
    *,
    k: int = 10,
    allow_repeats: bool = False,
    workers: Workers = 1,
    part_users: int = PART_USERS,
    progress: bool | Progress = True,
) -> BatchResult:
    """Make a list for every user in the store of a service, and write them to a folder.

    Each user's own policy makes the list from the state that the service has stored; items that
    were retired, or that the service would not repeat yet, are left out. Nothing is stored: the
    service does not count these lists as shown. It may run meanwhile; the list of a user is as of
    the moment at which their part is read. A run that was interrupted goes on where it stopped.

    Parameters
    ----------
    executor
        Of the service; see `variegate.cli.open_store.served`.
    out
        The folder to write: one row per user, with the columns ``user``, ``items`` and ``scores``.
    allow_repeats
        Whether to recommend items again that the user was shown lately.
    workers
        The number of processes, or ``"ray"``, or the address of a Ray cluster.
    part_users
        Users per part.
    """
    check_polars()
    experiment = executor.experiment
    with executor.store.reading() as reader:
        snapshot, total = executor.live.as_of(reader), reader.counts()["users"]
    check_count(k, int(snapshot.active.sum()), of="the items of the catalogue")
    check_count(part_users, 10**9, name="part_users", of="the most that make sense")
    folder = as_path(out)
    claim(folder, _settings(snapshot, experiment.specs, k, allow_repeats, part_users))
    served = _Served(snapshot.catalogue, snapshot.active, experiment.as_of(snapshot), k)
    done = made = number = 0
    after: str | None = None
    with show_progress(progress) as show, share([served], workers) as (shared,):
        while True:
            file = part_file(folder, number)
            number += 1
            if file.exists():
                done += height_of(file)
                after = _last_user(file)
                continue
            users = _next_users(executor, after, part_users, allow_repeats)
            if not users:
                return BatchResult(done + made, made, 0)
            shown = partial(_show, show, done + made, total)
            ids = [one.row.id for one in users]
            write_part(file, lists_of(ids, _recommend, (shared,), users, workers, shown))
            made, after = made + len(users), ids[-1]


def _show(show: Progress, before: int, total: int, done: int, _all: int) -> None:
    show("Users", before + done, max(total, before + done))


def _settings(
    snapshot: CatalogueSnapshot, specs: Mapping[str, str], k: int, allow_repeats: bool, users: int
) -> dict[str, Any]:
    return {
        "policies": dict(specs),
        "k": k,
        "allow_repeats": allow_repeats,
        "part_users": users,
        "catalogue": snapshot.catalogue.fingerprint.to_json(),
        "revision": snapshot.revision,
    }


def _last_user(file: Path) -> str:
    import polars as pl

    return str(pl.scan_parquet(file).select(pl.col("user").last()).collect().item())


def _next_users(
    executor: "Executor", after: str | None, limit: int, allow_repeats: bool
) -> list[_User]:
    """Return the next users by id, with the items that the service would not repeat yet."""
    with executor.store.reading() as reader:
        rows, now = reader.all_users(after, limit), executor.now(reader)
    since = now - executor.rules.memory_days * DAY
    nothing = np.zeros(0, dtype=np.intp)
    return [_User(row, nothing if allow_repeats else _hidden(row, since)) for row in rows]


def _hidden(row: UserRow, since: float) -> IndexArray:
    shown, used = SeenItems(row.shown), SeenItems(row.consumed or b"")
    return hidden_rows(shown.rows(since), used.rows(since))


def _recommend(shared: Shared[_Served], users: Sequence[_User]) -> list[IdsAndScores]:
    return [_list_of(shared.get(), one) for one in users]


def _list_of(served: _Served, user: _User) -> IdsAndScores:
    free = served.active.copy()
    # An item that was added since the snapshot is not in it.
    free[user.hidden[user.hidden < len(free)]] = False
    left = int(free.sum())
    if not left:
        return [], []
    policy = served.experiment.policy_of(user.row, served.catalogue)
    rng = np.random.default_rng(list(user.row.id.encode()))
    slate = policy.recommend(min(served.k, left), free, rng=rng)
    return list(slate.ids), slate.scores.tolist()
