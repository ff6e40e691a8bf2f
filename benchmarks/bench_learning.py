"""What learning costs beside the list, and what a user and a catalogue weigh."""

import tracemalloc
from collections.abc import Callable, Mapping
from threading import Thread
from time import perf_counter
from typing import Final, TypeVar

import numpy as np

from benchmarks.bench_lists import PAPER
from benchmarks.markdown import duration, size, table, times
from benchmarks.results import Comparison, Part, Shape
from benchmarks.timing import compared
from benchmarks.workloads import catalogue, taught
from variegate import LMDH, Catalogue

T = TypeVar("T")

#: The list beside all that learning costs, what the next list pays for included.
WHOLE: Final = "the list itself, with what is put off"
SHAPE: Final = Shape(3_533)
WEIGHED: Final = Shape(100_000)
#: Sizes whose states are weighed: d and m.
STATES: Final = ((10, 1), (10, 3), (64, 1))
USERS: Final = 1_000
LEAST_TURNS: Final = 20


def measure(quick: bool) -> Part:
    """Return the time that ten observations take, and bytes."""
    part = Part()
    _learning(part, Shape(500) if quick else SHAPE, 0.3 if quick else 3.0)
    _states(part)
    _weights(part, Shape(2_000) if quick else WEIGHED)
    return part


def formula(d: int, m: int) -> int:
    """Return the bytes of LMDH's state as `variegate.policies.State` documents them."""
    p = d + m
    return 4 * p * (p + 1) + 8 * p + 54


def _learning(part: Part, shape: Shape, budget: float) -> None:
    """Measure a user's life: a list, what was learnt of it, the next list by what is known then.

    The same list asked for again and again would be quicker: the processor learns it by heart.
    """
    sides = taught(catalogue(shape))
    policy, paper = sides.policy, sides.paper
    rewards = np.tile([0.0, 1.0], shape.k // 2)
    taken: dict[str, list[float]] = {"list": [], "update": [], "whole": [], "paper": []}
    end = perf_counter() + budget
    while perf_counter() < end or len(taken["list"]) < LEAST_TURNS:
        start = perf_counter()
        slate = policy.recommend(shape.k)
        listed = perf_counter()
        policy.update(slate, rewards)
        updated = perf_counter()
        policy._ridge.estimate()  # what an update puts off until a list asks for it
        solved = perf_counter()
        paper.learn(slate.relevance, slate.diversity, rewards)
        done = perf_counter()
        taken["list"].append(listed - start)
        taken["update"].append(updated - listed)
        taken["whole"].append(solved - listed)
        taken["paper"].append(done - solved)
    part.comparisons += [
        compared(PAPER, "learns the same", shape, taken["paper"], taken["whole"], task="learn"),
        _share("the list itself", shape, taken["list"], taken["update"]),
        _share(WHOLE, shape, taken["list"], taken["whole"]),
    ]


def _share(other: str, shape: Shape, listing: list[float], learning: list[float]) -> Comparison:
    return compared(other, "one list of ten", shape, listing, learning, task="learn")


def _states(part: Part) -> None:
    for d, m in STATES:
        policy = taught(catalogue(Shape(400, d, m=m))).policy
        part.facts[f"bytes of a state, d = {d}, m = {m}"] = len(policy.state().to_bytes())
        part.facts[f"bytes by the formula, d = {d}, m = {m}"] = formula(d, m)


def _weights(part: Part, shape: Shape) -> None:
    kept, items = _weighed(lambda: _laid_out(shape))
    part.facts["items weighed"] = shape.items
    part.facts["bytes of an item in a catalogue"] = kept / shape.items
    part.facts["bytes of its features alone"] = items.features.nbytes / shape.items
    sides = taught(items)
    part.facts["peak bytes of one list"] = _peak(lambda: sides.policy.recommend(shape.k))
    part.facts["peak bytes of one list by the paper's lines"] = _peak(
        lambda: sides.paper_list(shape.k)
    )
    kept, _policies = _weighed(lambda: [LMDH(items) for _ in range(USERS)])
    part.facts["bytes of a user's policy in memory"] = kept / USERS


def _laid_out(shape: Shape) -> Catalogue:
    items = catalogue(shape)
    LMDH(items).recommend(1)  # lays the items out for the compiled loops
    return items


def _weighed(make: Callable[[], T]) -> tuple[int, T]:
    """Return how many bytes are held by what `make` makes, and that."""
    tracemalloc.start()
    try:
        made = make()
        return tracemalloc.get_traced_memory()[0], made
    finally:
        tracemalloc.stop()


def _peak(call: Callable[[], object]) -> int:
    """Return the most bytes that a call holds at once, beyond what was there.

    In a thread of its own: a thread keeps the work arrays of its lists.
    """
    call()
    tracemalloc.start()
    try:
        thread = Thread(target=call)
        thread.start()
        thread.join()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def section(part: Part) -> list[str]:
    """Write what learning costs, and what is kept."""
    share = {row.other: row for row in part.of_task("learn")}
    whole, update, paper = share[WHOLE], share["the list itself"], share[PAPER]
    lines = [
        f"Ten observations are learnt in {duration(update.ours)}, {100.0 / update.ratio:.0f}% of"
        f" the time of a list at L = {whole.shape.items:,}, d = {whole.shape.d}; with what"
        f" `update` puts off until the next list asks for it, {duration(whole.ours)} or"
        f" {100.0 / whole.ratio:.0f}%. The paper's lines take {duration(paper.theirs)}:"
        f" `update` is {times(paper)} as fast.",
        "",
    ]
    facts, columns = part.facts, ("of a state", "by the formula")
    states = [
        [str(d), str(m), *(f"{facts[f'bytes {name}, d = {d}, m = {m}']:,.0f}" for name in columns)]
        for d, m in STATES
    ]
    header = ["d", "m", "bytes of a state", "4p(p + 1) + 8p + 54"]
    return [
        *lines,
        "What one user needs in storage, with p = d + m:",
        "",
        *table(header, states, left=0),
        *_memory(facts),
    ]


def _memory(facts: Mapping[str, float]) -> list[str]:
    items = f"{facts['items weighed']:,.0f}"
    named = {
        f"an item, of {items}, d = 10, one distance": "bytes of an item in a catalogue",
        "of it, the features as they were given": "bytes of its features alone",
        "a user's policy, alive": "bytes of a user's policy in memory",
        f"the most that one list from {items} items holds at once": "peak bytes of one list",
        "the same by the paper's lines": "peak bytes of one list by the paper's lines",
    }
    return table(["memory", ""], [[title, size(facts[fact])] for title, fact in named.items()])
