"""Peers that learn, each in an environment of its own, doing the nearest job that it can."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.environments import PeerError, environments_folder, python_of, succeeded
from benchmarks.markdown import duration, table, times
from benchmarks.results import Comparison, Part, Shape
from benchmarks.timing import alternated
from benchmarks.workloads import catalogue, taught

ROOT: Final = Path(__file__).resolve().parents[1]
SHAPE: Final = Shape(1_447)
#: Seconds that a peer's script may take.
PATIENCE: Final = 300.0


@dataclass(frozen=True)
class Peer:
    """A package to install, and the script that measures it."""

    requirement: str
    script: str


PEERS: Final = (
    Peer("mabwiser==2.7.4", "mabwiser_linucb"),
    Peer("vowpalwabbit==9.11.9", "vowpalwabbit_ccb"),
    Peer("river==0.26.1", "river_linucb"),
    Peer("contextualbandits==0.3.30", "contextualbandits_linucb"),
    Peer("bayesianbandits==1.5.0", "bayesianbandits_shared"),
)


def measure(quick: bool, folder: Path | None = None) -> Part:
    """Return each peer's list and learning, beside ours measured just before and just after."""
    shape, part = Shape(200) if quick else SHAPE, Part()
    folder = folder or environments_folder()
    ours = _Ours(shape, 0.1 if quick else 0.5)
    for peer in PEERS:
        try:
            python = python_of(folder, peer.requirement)
            before = ours.medians()
            output = _run_peer(python, peer, shape, 0.1 if quick else 4.0)
        except PeerError as failure:
            part.skipped.append(f"{peer.requirement}: {failure}")
            continue
        after = ours.medians()
        part.versions[output["package"]] = output["version"]
        part.comparisons += [
            _comparison(row, shape, 0.5 * (before[row["task"]] + after[row["task"]]))
            for row in output["measured"]
        ]
    return part


class _Ours:
    """LMDH's list and its learning, to be measured again and again."""

    def __init__(self, shape: Shape, budget: float) -> None:
        self._policy, self._k = taught(catalogue(shape)).policy, shape.k
        self._budget = budget

    def medians(self) -> dict[str, float]:
        policy, k = self._policy, self._k
        slate, rewards = policy.recommend(k), np.tile([0.0, 1.0], k // 2)
        calls = {
            "list": lambda: policy.recommend(k),
            "learn": lambda: policy.update(slate, rewards),
        }
        times = alternated(calls, budget=self._budget)
        return {name: float(np.median(seconds)) for name, seconds in times.items()}


def _run_peer(python: Path, peer: Peer, shape: Shape, budget: float) -> dict[str, Any]:
    task = {"items": shape.items, "d": shape.d, "k": shape.k, "budget": budget}
    command = [str(python), "-m", f"benchmarks.peers.{peer.script}", json.dumps(task)]
    printed = succeeded(command, PATIENCE, folder=ROOT)
    output: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return output


def _comparison(row: dict[str, Any], shape: Shape, ours: float) -> Comparison:
    low, high = np.quantile(row["seconds"], [0.1, 0.9]) / ours
    return Comparison(
        other=row["title"],
        job=row["job"],
        task=row["task"],
        shape=shape,
        theirs=float(np.median(row["seconds"])),
        ours=ours,
        low=float(low),
        high=float(high),
        turns=len(row["seconds"]),
    )


def section(part: Part) -> list[str]:
    """Write what each peer does, and how long it takes."""
    return [
        "Each peer does the nearest job that it can, in an environment and a process of its own;",
        "ours is measured just before and just after, and the mean of the two is taken.",
        "",
        *_jobs("A list of 10", part.of_task("list")),
        *_jobs("Ten observations", part.of_task("learn")),
    ]


def _jobs(title: str, found: Iterable[Comparison]) -> list[str]:
    rows = [
        [row.other, row.job, duration(row.theirs), duration(row.ours), times(row)] for row in found
    ]
    header = [title, "what it does", "takes", "variegate", "times as fast"]
    return table(header, rows, left=2) if rows else []
