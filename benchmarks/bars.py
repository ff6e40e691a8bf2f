"""The bars that the package set itself, held against what was measured. No test knows them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from benchmarks import bench_batch, bench_default
from benchmarks.bench_learning import WHOLE
from benchmarks.bench_lists import EXPERT, LIMIT, PAPER, PLAIN
from benchmarks.bench_rerankers import RERANK
from benchmarks.results import Results


@dataclass(frozen=True)
class Bar:
    """A number to reach."""

    what: str
    goal: float
    #: Whether more is better; else the goal is the most allowed
    at_least: bool
    unit: str
    value: Callable[[Results], float | None]

    def verdict(self, value: float | None) -> str:
        """Return "met", "not met" or "not measured"."""
        if value is None:
            return "not measured"
        return "met" if (value >= self.goal if self.at_least else value <= self.goal) else "not met"

    @property
    def wanted(self) -> str:
        """The goal, in words."""
        return f"{'at least' if self.at_least else 'at most'} {self.goal:g}{self.unit}"


def judged(results: Results) -> list[dict[str, Any]]:
    """Return every bar with its value and verdict, ready for JSON."""
    rows = []
    for bar in BARS:
        value = bar.value(results)
        rows.append(
            {
                "what": bar.what,
                "wanted": bar.wanted,
                "value": value,
                "unit": bar.unit,
                "verdict": bar.verdict(value),
            }
        )
    return rows


#: Finds the measured number of a bar.
Value: TypeAlias = Callable[[Results], float | None]


def _times(part: str, other: str, items: int, d: int = 10, task: str = "list") -> Value:
    def value(results: Results) -> float | None:
        found = results.part(part).find(other, items, d, task)
        return found.ratio if found else None

    return value


def _inverse(value: Value) -> Value:
    def inverse(results: Results) -> float | None:
        found = value(results)
        return 1.0 / found if found else None

    return inverse


def _job(part: str, task: str, job: str, items: int = 0) -> Value:
    """Return the ratio of a job, with so many items if these are given."""

    def value(results: Results) -> float | None:
        rows = results.part(part).of_task(task)
        found = [row.ratio for row in rows if row.job == job and items in (0, row.shape.items)]
        return found[0] if found else None

    return value


def _fact(part: str, name: str) -> Value:
    return lambda results: results.part(part).facts.get(name)


def _scaling(results: Results) -> float | None:
    facts = results.part("batch").facts
    return facts.get(bench_batch.SCALING) if facts.get("users") == bench_batch.USERS else None


def _growth_share(results: Results) -> float | None:
    found = [row for row in results.part("growth").growths if row.along == "m"]
    return found[0].ours_exponent / found[0].theirs_exponent if found else None


def _start_share(results: Results) -> float | None:
    facts = results.part("startup").facts
    ours = facts.get("seconds of `from variegate import LMDH, Catalogue`")
    return None if ours is None else ours / facts["seconds of `import numpy`"]


def _same_lists(results: Results) -> float | None:
    facts = results.part("lists").facts
    same = facts.get("shapes where the list is the paper's, item by item")
    return None if same is None else 100.0 * same / facts["shapes"]


def _rerank_bars() -> Iterator[Bar]:
    for items, d in ((3_533, 10), (10_000, 10), (200, 768)):
        for strategy in ("MSD", "MMR"):
            yield Bar(
                f"`diversify` against pyversity's {strategy}, L = {items:,}, d = {d}",
                3,
                True,
                "×",
                _times("rerankers", f"pyversity {strategy}", items, d, RERANK),
            )


def _earlier_bars() -> Iterator[Bar]:
    for items, d, goal in ((3_533, 10, 12), (1_000_000, 10, 15), (1_000_000, 64, 12)):
        what = f"{_LIST} against the paper's lines, L = {items:,}, d = {d}"
        yield Bar(what, goal, True, "×", _times("lists", PAPER, items, d))
    for items in (3_533, 10_000):
        what = f"{_LIST} against pyversity's MSD, L = {items:,}"
        yield Bar(what, 3, True, "×", _times("rerankers", "pyversity MSD", items))


def _plain_bars() -> Iterator[Bar]:
    for items, goal in ((1_447, 0.9), (3_533, 1), (10_000, 1.2), (100_000, 1.5)):
        what = f"{_LIST} against a plain blocked kernel, L = {items:,}, d = 10"
        yield Bar(what, goal, True, "×", _times("lists", PLAIN, items))


def _pass_bars() -> Iterator[Bar]:
    for items, d, goal in ((1_447, 10, 10), (100_000, 10, 5), (1_000_000, 64, 4)):
        yield Bar(
            f"passes that {_LIST} costs, L = {items:,}, d = {d}",
            goal,
            False,
            "",
            _inverse(_times("lists", LIMIT, items, d)),
        )
    yield Bar(
        "passes that it costs if distances are summed, L = 1,000,000, d = 64",
        12,
        False,
        "",
        _inverse(_job("lists", "circumstance", "distances summed, not averaged", 1_000_000)),
    )


def _default_bars() -> Iterator[Bar]:
    for stage, goal in zip(bench_default.STAGES, (2, 5), strict=True):
        yield Bar(
            f"the default learner's list against LMDH's, after {stage} observations",
            goal,
            False,
            "× its cost",
            _inverse(_job("default", bench_default.TASK, f"{stage} observations")),
        )


_LIST: Final = "LMDH's list of 10"
BARS: Final = (
    Bar(
        f"{_LIST} against the paper's lines by a NumPy expert, L = 3,533, d = 10",
        20,
        True,
        "×",
        _times("lists", EXPERT, 3_533),
    ),
    *_earlier_bars(),
    *_plain_bars(),
    *_pass_bars(),
    *_rerank_bars(),
    Bar(
        "exponent of the growth with 1 to 8 distances, over that of the paper's lines",
        1,
        False,
        "",
        _growth_share,
    ),
    *_default_bars(),
    Bar(
        "lists for 10,000 users, 3,533 items, all cores against one",
        1.8,
        True,
        "×",
        _scaling,
    ),
    Bar(
        "replay of ML-1M's test users against the paper's lines",
        20,
        True,
        "×",
        _job("replay", "replay", "ml-1m"),
    ),
    Bar(
        "`from variegate import LMDH, Catalogue` against `import numpy`, whole processes",
        2,
        False,
        "×",
        _start_share,
    ),
    Bar(
        f"{_LIST} against MABWiser's LinUCB, L = 1,447",
        100,
        True,
        "×",
        _times("peers", "MABWiser LinUCB", 1_447),
    ),
    Bar(
        "passes that the two-stage list costs, L = 1,000,000, d = 64",
        1,
        False,
        "",
        _fact("large", "passes"),
    ),
    Bar(
        "score of the two-stage list over the exact one's, 200 users, mean",
        0.99,
        True,
        "",
        _fact("large", "mean score ratio"),
    ),
    Bar(
        "ten observations learnt, as a share of the list, L = 3,533, d = 10",
        0.25,
        False,
        "",
        _inverse(_times("learning", WHOLE, 3_533, task="learn")),
    ),
    Bar(
        "bytes of a user's state, d = 10, m = 1",
        700,
        False,
        "",
        _fact("learning", "bytes of a state, d = 10, m = 1"),
    ),
    Bar("measured lists that equal the paper's, item by item", 100, True, "%", _same_lists),
)
