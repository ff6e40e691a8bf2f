"""Replays of MovieLens' test users, by LMDH and by the paper's lines in NumPy."""

import os
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

from benchmarks.bench_lists import PAPER
from benchmarks.markdown import duration, table, times
from benchmarks.results import Part, Shape
from benchmarks.timing import Times, compared
from benchmarks.workloads import EXPLORATION, RIDGE, distances_from, listed_by
from variegate import LMDH
from variegate.arrays import IndexArray
from variegate.data.bpr import cache_folder
from variegate.data.download import DATASETS, find_dataset
from variegate.errors import DataError, MissingExtraError
from variegate.evaluation.replay import ReplayTask, replay, replay_task
from variegate.kernels.algorithm2 import BlockLMDH

NAMES: Final = ("ml-100k", "ml-1m")
ROUNDS: Final = 30
K: Final = 10
#: Users that both sides replay, at most.
USERS: Final = 200
#: Users that each side replays at a turn.
AT_A_TURN: Final = 5
#: Where the archives lie beside a checkout, when VARIEGATE_DATA does not say.
BESIDE: Final = Path(__file__).resolve().parents[2] / "shared" / "data"


def measure(quick: bool) -> Part:
    """Return the replay of each data set's test users by both; of few of them, if `quick`."""
    part = Part()
    for name in NAMES[:1] if quick else NAMES:
        try:
            task = task_of(name)
        except (DataError, MissingExtraError) as error:
            part.skipped.append(f"replay of {name}: {error}")
            continue
        _compare(part, name, task, 10 if quick else USERS)
    return part


def task_of(name: str) -> ReplayTask:
    """Return the replay of a data set's test users; embeddings are learnt once and kept."""
    path = BESIDE / DATASETS[name].archive
    if os.environ.get("VARIEGATE_DATA") or not path.is_file():
        path = find_dataset(name)
    return replay_task(DATASETS[name].load(path), cache=cache_folder())


def _compare(part: Part, name: str, task: ReplayTask, sample: int) -> None:
    rng = np.random.default_rng(0)
    users = rng.choice(len(task.likes), min(sample, len(task.likes)), replace=False).tolist()
    replay(LMDH, task, users=users[:1], rounds=2, k=K)  # warms up
    ours: Times = []
    theirs: Times = []
    same = 0
    for first in range(0, len(users), AT_A_TURN):
        turn = users[first : first + AT_A_TURN]
        start = perf_counter()
        trace = replay(LMDH, task, users=turn, rounds=ROUNDS, k=K)
        between = perf_counter()
        lists = [plain_replay(task, user) for user in turn]
        end = perf_counter()
        ours.append((between - start) / len(turn))
        theirs.append((end - between) / len(turn))
        same += int((trace.lists == np.array(lists)).all(axis=2).sum())
    shape = Shape(len(task.catalogue), task.catalogue.d, K, task.catalogue.m)
    part.comparisons.append(
        compared(PAPER, name, shape, theirs, ours, task="replay", note="one user")
    )
    part.facts[f"{name}: lists that are the same on both sides, share"] = same / (
        len(users) * ROUNDS
    )
    part.facts[f"{name}: users replayed by both"] = len(users)
    part.facts[f"{name}: test users"] = len(task.likes)
    part.facts[f"{name}: seconds for all test users by LMDH"] = _all_users(task)


def _all_users(task: ReplayTask) -> float:
    start = perf_counter()
    replay(LMDH, task, rounds=ROUNDS, k=K)
    return perf_counter() - start


def plain_replay(task: ReplayTask, user: int) -> IndexArray:
    """Play one user by the paper's lines; return the lists, (rounds, K)."""
    items, lists = task.catalogue, np.full((ROUNDS, K), -1, dtype=np.intp)
    paper = BlockLMDH(items.d, items.m, RIDGE, EXPLORATION)
    fresh, wanted = np.ones(len(items), dtype=bool), np.zeros(len(items))
    wanted[task.likes[user]] = 1.0
    for number in range(ROUNDS):
        rows = np.flatnonzero(fresh)
        from_item = distances_from([h.among(rows) for h in items.distances])
        chosen = listed_by(paper, items.features[rows], from_item, K, "growing")
        lists[number] = rows[chosen.places]
        paper.learn(chosen.z, chosen.x, wanted[lists[number]])
        fresh[lists[number]] = False
    return lists


def section(part: Part) -> list[str]:
    """Write the replays."""
    rows = []
    for row in part.of_task("replay"):
        facts = part.facts
        users = facts[f"{row.job}: test users"]
        rows.append(
            [
                row.job,
                f"{facts[f'{row.job}: users replayed by both']:.0f} of {users:.0f}",
                duration(row.ours),
                duration(row.theirs),
                times(row),
                f"{100.0 * facts[f'{row.job}: lists that are the same on both sides, share']:.1f}%",
                duration(facts[f"{row.job}: seconds for all test users by LMDH"]),
                duration(row.theirs * users),
            ]
        )
    header = [
        "data",
        "users",
        "a user, variegate",
        "a user, paper's lines",
        "times as fast",
        "same lists",
        "all users, variegate",
        "all users, paper's lines, by that",
    ]
    return [
        "30 rounds of lists of 10, learning after each, shown items gone: test users replayed by",
        "both sides in turns (the table says how many), and all of them by variegate, one core.",
        "",
        *table(header, rows),
    ]
