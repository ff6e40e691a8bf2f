"""The bars that the package set itself, held against what was measured. No test knows them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.bench_learning import WHOLE
from benchmarks.bench_lists import LIMIT, PAPER
from benchmarks.results import Comparison, Results


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


def _times(part: str, other: str, items: int, d: int = 10) -> Callable[[Results], float | None]:
    def value(results: Results) -> float | None:
        found = results.part(part).find(other, items, d)
        return found.ratio if found else None

    return value


def _passes(results: Results) -> float | None:
    found = results.part("lists").find(LIMIT, 1_000_000, 64)
    return 1.0 / found.ratio if found else None


def _learning(results: Results) -> float | None:
    found = results.part("learning").find(WHOLE, 3_533, task="learn")
    return 1.0 / found.ratio if found else None


def _replay(results: Results) -> float | None:
    found: list[Comparison] = [
        row for row in results.part("replay").of(PAPER, "replay") if row.job == "ml-1m"
    ]
    return found[0].ratio if found else None


def _fact(part: str, name: str) -> Callable[[Results], float | None]:
    return lambda results: results.part(part).facts.get(name)


def _same_lists(results: Results) -> float | None:
    facts = results.part("lists").facts
    same = facts.get("shapes where the list is the paper's, item by item")
    return None if same is None else 100.0 * same / facts["shapes"]


_LIST: Final = "LMDH's list of 10 against the paper's lines in NumPy"
BARS: Final = (
    Bar(f"{_LIST}, L = 3,533, d = 10", 12, True, "×", _times("lists", PAPER, 3_533)),
    Bar(f"{_LIST}, L = 1,000,000, d = 10", 15, True, "×", _times("lists", PAPER, 1_000_000)),
    Bar(f"{_LIST}, L = 1,000,000, d = 64", 12, True, "×", _times("lists", PAPER, 1_000_000, 64)),
    Bar(
        "the same against pyversity's MSD, L = 3,533",
        3,
        True,
        "×",
        _times("rerankers", "pyversity MSD", 3_533),
    ),
    Bar(
        "the same against pyversity's MSD, L = 10,000",
        3,
        True,
        "×",
        _times("rerankers", "pyversity MSD", 10_000),
    ),
    Bar(
        "the same against MABWiser's LinUCB, L = 1,447",
        100,
        True,
        "×",
        _times("peers", "MABWiser LinUCB", 1_447),
    ),
    Bar("passes that the exact list costs, L = 1,000,000, d = 64", 20, False, "", _passes),
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
        _learning,
    ),
    Bar("replay of ML-1M's test users against the paper's lines", 15, True, "×", _replay),
    Bar(
        "bytes of a user's state, d = 10, m = 1",
        700,
        False,
        "",
        _fact("learning", "bytes of a state, d = 10, m = 1"),
    ),
    Bar("measured lists that equal the paper's, item by item", 100, True, "%", _same_lists),
)
