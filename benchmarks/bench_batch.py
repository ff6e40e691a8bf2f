"""Lists for many users at once: one core and all of them, and implicit's `recommend` beside it.

`measure` starts `python -m benchmarks.bench_batch`, because a process decides on its threads only
once; implicit runs in an environment of its own.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks.environments import PATIENCE, PeerError, environments_folder, python_of, succeeded
from benchmarks.machine import all_cores, use_cores
from benchmarks.markdown import duration, table, three_digits
from benchmarks.results import Part, Shape, part_of

if TYPE_CHECKING:
    from variegate import LMDH, Recommender

ROOT: Final = Path(__file__).resolve().parents[1]
SHAPE: Final = Shape(3_533)
USERS: Final = 10_000
#: Users whose compiled lists are timed alone.
GROUP: Final = 100
ROUNDS: Final = 5
IMPLICIT: Final = "implicit==0.7.3"
ONE: Final = "lists a second on one core"
ALL: Final = "lists a second on all cores"
THEIRS: Final = "lists a second by implicit, all cores"
SCALING: Final = "times as fast on all cores as on one"
COMPILED: Final = "seconds of a list that the interpreter lock is free, one core"


def measure(quick: bool, folder: Path | None = None) -> Part:
    """Return the rates of processes that may use all cores."""
    command = [sys.executable, "-m", "benchmarks.bench_batch", *(["--quick"] if quick else [])]
    part = part_of(json.loads(succeeded(command, PATIENCE, folder=ROOT).splitlines()[-1]))
    try:
        python = python_of(folder or environments_folder(), IMPLICIT)
        size = {"users": part.facts["users"], "items": part.facts["items"], "d": SHAPE.d}
        task = {**size, "k": SHAPE.k, "cores": all_cores()}
        script = [str(python), "-m", "benchmarks.peers.implicit_recommend", json.dumps(task)]
        found = json.loads(succeeded(script, PATIENCE, folder=ROOT).splitlines()[-1])
    except PeerError as failure:
        part.skipped.append(f"{IMPLICIT}: {failure}")
        return part
    part.versions["implicit"] = found["version"]
    part.facts[THEIRS] = part.facts["users"] / min(found["seconds"])
    return part


def _measured(quick: bool) -> Part:
    from benchmarks.workloads import catalogue, taught

    shape, users, cores = Shape(500) if quick else SHAPE, 200 if quick else USERS, len(all_cores())
    recommender, ids = _recommender(taught(catalogue(shape)).policy, users)
    seconds: dict[int, list[float]] = {1: [], cores: []}
    recommender.recommend_many(ids[:10], shape.k, workers=cores)
    for _ in range(ROUNDS):
        for workers, taken in seconds.items():
            start = perf_counter()
            recommender.recommend_many(ids, shape.k, workers=workers)
            taken.append(perf_counter() - start)
    best = {workers: min(taken) for workers, taken in seconds.items()}
    return Part(
        facts={
            "users": users,
            "items": shape.items,
            "cores": cores,
            ONE: users / best[1],
            ALL: users / best[cores],
            SCALING: best[1] / best[cores],
            COMPILED: _compiled_seconds(recommender, ids[:GROUP], shape.k),
        }
    )


def _compiled_seconds(recommender: "Recommender", ids: list[str], k: int) -> float:
    """Return the seconds of a list that the compiled loops take, which do not hold the lock."""
    import numpy as np  # not before `use_cores`

    from variegate import LMDH
    from variegate.kernels.lmdh import lmdh_lists
    from variegate.model.gains import normalising_factors

    policies = [policy for policy in map(recommender.policy, ids) if isinstance(policy, LMDH)]
    layout, estimates = recommender.catalogue.layout, [policy._estimate() for policy in policies]
    if layout is None or not policies:
        raise AssertionError("the lists of a batch must be compiled")
    beliefs = (
        np.array([estimate.mean for estimate in estimates]),
        np.array([estimate.inverse_root for estimate in estimates]),
        np.array([policy.width(k) for policy in policies]),
    )
    free, factors = np.ones(len(layout), np.bool_), normalising_factors("growing", k)
    taken = []
    for _ in range(10 * ROUNDS):
        start = perf_counter()
        lmdh_lists(layout, free, *beliefs, factors)
        taken.append(perf_counter() - start)
    return min(taken) / len(policies)


def _recommender(policy: "LMDH", users: int) -> "tuple[Recommender, list[str]]":
    """Return a recommender whose users have learnt different things."""
    import numpy as np  # not before `use_cores`

    from variegate import Recommender

    recommender = Recommender(policy.catalogue, "lmdh")
    ids, slate = [str(user) for user in range(users)], policy.recommend(SHAPE.k)
    rng = np.random.default_rng(0)
    for user in ids:
        recommender.recommend(user, SHAPE.k)
        own = recommender.policy(user)
        own.restore(policy.state())
        own.update(slate, rng.integers(0, 2, SHAPE.k))
    return recommender, ids


def section(part: Part) -> list[str]:
    """Write the rates."""
    facts = part.facts
    rows = [
        ["variegate, one core", f"{facts[ONE]:,.0f}", duration(1.0 / facts[ONE])],
        [f"variegate, {facts['cores']:.0f} cores", f"{facts[ALL]:,.0f}", duration(1 / facts[ALL])],
    ]
    if THEIRS in facts:
        rate = facts[THEIRS]
        rows.append([f"implicit, {facts['cores']:.0f} cores", f"{rate:,.0f}", duration(1.0 / rate)])
    return [
        f"Lists of {SHAPE.k} for {facts['users']:,.0f} users from {facts['items']:,.0f} items by"
        " `Recommender.recommend_many`, every user with",
        "preferences of their own, the fastest of five runs:"
        f" {three_digits(facts[SCALING])} times as fast on all cores as on one. implicit's",
        "`recommend` takes the ten best products of two vectors of 10 factors: no exploration, no",
        "diversity, and no features to learn from in the answer.",
        "",
        *table(["", "lists a second", "a list"], rows),
        *_limit(facts),
    ]


def _limit(facts: Mapping[str, float]) -> list[str]:
    """Write what the interpreter lock allows at best."""
    if COMPILED not in facts:
        return []
    serial = max(1.0 - facts[COMPILED] * facts[ONE], 0.0)
    best = 1.0 / (serial + (1.0 - serial) / facts["cores"])
    return [
        f"Of a list on one core, {duration(facts[COMPILED])} are compiled loops, which cores run",
        f"side by side; the other {100.0 * serial:.0f}%, which makes slates in Python, holds the",
        f"interpreter lock: {three_digits(best)} times is the most that {facts['cores']:.0f} cores",
        "can give.",
        "",
    ]


if __name__ == "__main__":
    use_cores(all_cores())
    print(json.dumps(asdict(_measured("--quick" in sys.argv))))
