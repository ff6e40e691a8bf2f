"""A session of one person with one policy, and how to describe its slates."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray, as_generator, check_count
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.policies import Policy
from variegate.policies.beliefs import WeightEstimate, learnt_diversity


@dataclass(frozen=True, eq=False)
class Turn:
    """A slate that was shown, and the person's picks."""

    slate: Slate
    #: 1 where the person picked, else 0, (K,)
    rewards: FloatArray

    @property
    def hits(self) -> int:
        """How many items were picked."""
        return int(self.rewards.sum())

    @property
    def picked(self) -> IndexArray:
        """The rows that were picked, in the order shown."""
        return self.slate.items[self.rewards > 0]


class Session:
    """Slates for one person, each of items not shown before, until none are left.

    Parameters
    ----------
    policy
        Recommends and learns.
    k
        Items in a slate; the last one may be shorter.
    rng
        For stochastic policies.

    Examples
    --------
    >>> from variegate.policies import LMDH
    >>> session = Session(LMDH(Catalogue(list("abc"), np.eye(3), "cosine"), ridge=1.0), k=2)
    >>> session.slate().ids
    ('a', 'b')
    >>> session.answer([1]).hits
    1
    >>> session.slate().ids
    ('c',)
    """

    def __init__(self, policy: Policy, *, k: int = 10, rng: Any = None) -> None:
        self.policy = policy
        self.k = check_count(k, len(policy.catalogue), of="the items")
        self.turns: list[Turn] = []
        self._rng = as_generator(rng)
        self._free = np.ones(len(policy.catalogue), dtype=np.bool_)
        self._slate: Slate | None = None

    @property
    def catalogue(self) -> Catalogue:
        """The items."""
        return self.policy.catalogue

    @property
    def is_over(self) -> bool:
        """Whether every item was shown."""
        return not self._free.any()

    @property
    def hits(self) -> tuple[int, ...]:
        """How many items were picked from each slate so far."""
        return tuple(turn.hits for turn in self.turns)

    @property
    def picked(self) -> tuple[int, ...]:
        """The rows that were picked so far, in the order shown."""
        return tuple(int(row) for turn in self.turns for row in turn.picked)

    def slate(self) -> Slate:
        """Return the current slate; it is the same until `answer` is called."""
        if self.is_over:
            raise InputError(f"every item of {self.catalogue} was shown: start a new session")
        if self._slate is None:
            k = min(self.k, int(self._free.sum()))
            self._slate = self.policy.recommend(k, candidates=self._free, rng=self._rng)
        return self._slate

    def answer(self, picks: Iterable[int]) -> Turn:
        """Learn which positions, from 0, were picked; the next call of `slate` returns another."""
        slate = self.slate()
        rewards = np.zeros(len(slate))
        for pick in picks:
            if not 0 <= pick < len(slate):
                raise InputError(f"`picks` must be from 0 to {len(slate) - 1}, got {pick}")
            rewards[pick] = 1.0
        self.policy.update(slate, rewards)
        self._free[slate.items] = False
        self._slate = None
        self.turns.append(Turn(slate, rewards))
        return self.turns[-1]


class Command(Enum):
    """What a person can type in a terminal."""

    PICK = "pick"
    WHY = "why"
    HELP = "help"
    QUIT = "quit"


#: Words that can be typed in place of numbers.
WORDS: Final = {
    "w": Command.WHY,
    "why": Command.WHY,
    "?": Command.HELP,
    "h": Command.HELP,
    "help": Command.HELP,
    "q": Command.QUIT,
    "quit": Command.QUIT,
    "exit": Command.QUIT,
}


@dataclass(frozen=True)
class Answer:
    """A command, and for picks the positions, from 0, sorted."""

    command: Command
    picks: tuple[int, ...] = ()


def parse_answer(text: str, k: int) -> Answer:
    """Return the answer that was typed for a slate of `k`, or raise InputError.

    Numbers count from 1, with blanks, commas or semicolons between them. Repeated numbers count
    once, and no number means that nothing is picked.

    Examples
    --------
    >>> parse_answer("1, 4 9", 10).picks
    (0, 3, 8)
    >>> parse_answer("q", 10).command
    <Command.QUIT: 'quit'>
    """
    typed = text.strip().lower()
    if typed in WORDS:
        return Answer(WORDS[typed])
    numbers = [_number(word, k) for word in re.split(r"[\s,;]+", typed) if word]
    return Answer(Command.PICK, tuple(sorted({number - 1 for number in numbers})))


def _number(word: str, k: int) -> int:
    hint = f"type numbers from 1 to {k}, such as 1 {k}, or ? for help"
    shown = word if len(word) <= 20 else f"{word[:20]}…"
    if not word.isdecimal():
        raise InputError(f"`{shown}` is not a number: {hint}")
    # Python refuses to read numbers of thousands of digits, and no list is that long.
    if len(word) > 9 or not 1 <= int(word) <= k:
        raise InputError(f"`{shown}` is not in this list: {hint}")
    return int(word)


#: Items in the sample of `typical_distances`: on the films within 2% of the mean over all pairs.
SAMPLE = 50


def mean_distances_above(catalogue: Catalogue, items: IndexArray) -> FloatArray:
    """Return each item's mean distance to the items above it, (K, m); nan for the first.

    These are plain means, not scaled by the policy's normaliser.
    """
    k = len(items)
    means = np.full((k, catalogue.m), np.nan)
    for column, h in enumerate(catalogue.distances):
        pairs = h.among(items).matrix()
        for place in range(1, k):
            means[place, column] = pairs[place, :place].mean()
    return means


def typical_distances(catalogue: Catalogue) -> FloatArray:
    """Return the mean distance between two items of the catalogue, (m,), from a sample of rows."""
    n = len(catalogue)
    rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp))
    others = max(n - 1, 1)  # an item's distance to itself is 0 and does not count
    means = [
        np.mean([h.from_item(int(row)).sum() / others for row in rows]) for h in catalogue.distances
    ]
    return np.array(means, dtype=np.float64)


def distinguishing_distances(
    catalogue: Catalogue, items: IndexArray, typical: FloatArray, *, max_names: int = 2
) -> list[tuple[str, ...]]:
    """Return for each item the names of the distances that set it apart from all above it.

    In these, even the nearest item above is farther away than two items typically are. At most
    `max_names`, the farthest first; none for the first item.
    """
    k = len(items)
    nearest = np.zeros((k, catalogue.m))
    for column, h in enumerate(catalogue.distances):
        pairs = h.among(items).matrix()
        nearest[1:, column] = [pairs[place, :place].min() for place in range(1, k)]
    names = [h.name for h in catalogue.distances]
    named = []
    for ratios in nearest / np.where(typical > 0, typical, np.inf):
        order = np.argsort(-ratios, kind="stable")[:max_names]
        named.append(tuple(names[place] for place in order if ratios[place] > 1.0))
    return named


#: Standard errors above which a difference of two means is significant.
SIGNIFICANT: Final = 2.0
#: Picks, and items skipped, that a comparison needs.
MIN_ITEMS: Final = 3


class Contrast(Enum):
    """How far picks were from the items above them, compared with the items skipped."""

    FARTHER = "farther apart"
    CLOSER = "closer together"
    SAME = "much the same"
    UNKNOWN = "too few to say"


@dataclass(frozen=True)
class DiversityEvidence:
    """The desired diversity by one distance: what the picks show, and what the policy has learnt.

    They can differ. The weight takes the items' features into account and needs many slates; and a
    picked item may be close to those above merely because the person likes all of them.
    """

    #: The weight of the distance (beta) with its interval
    weight: WeightEstimate
    #: Mean distance of the picked items to those above them; nan without any
    picked: float
    #: The same for the items skipped
    passed: float
    contrast: Contrast

    @property
    def name(self) -> str:
        """The name of the distance."""
        return self.weight.name


def diversity_evidence(session: Session) -> list[DiversityEvidence]:
    """Return the person's desired diversity, one entry per distance."""
    picked, passed = _picked_and_passed(session)
    return [
        DiversityEvidence(
            weight,
            _mean(picked[:, i]),
            _mean(passed[:, i]),
            contrast(picked[:, i], passed[:, i]),
        )
        for i, weight in enumerate(learnt_diversity(session.policy))
    ]


def contrast(picked: FloatArray, passed: FloatArray) -> Contrast:
    """Compare two means by their standard error."""
    if min(len(picked), len(passed)) < MIN_ITEMS:
        return Contrast.UNKNOWN
    error = np.sqrt(picked.var(ddof=1) / len(picked) + passed.var(ddof=1) / len(passed))
    difference = picked.mean() - passed.mean()
    if abs(difference) <= SIGNIFICANT * error or difference == 0.0:
        return Contrast.SAME
    return Contrast.FARTHER if difference > 0 else Contrast.CLOSER


def _picked_and_passed(session: Session) -> tuple[FloatArray, FloatArray]:
    """Return mean distances to the items above, (n, m), of both; first items have none."""
    picked: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    passed: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    for turn in session.turns:
        above = mean_distances_above(session.catalogue, turn.slate.items)[1:]
        liked = turn.rewards[1:]
        picked.append(above[liked > 0])
        passed.append(above[liked == 0])
    return np.vstack(picked), np.vstack(passed)


def _mean(numbers: FloatArray | Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")


#: Longer texts are cut.
MAX_CHARACTERS: Final = 40


def shown_attributes(catalogue: Catalogue, *, max_names: int = 3) -> tuple[str, ...]:
    """Return the names of the attributes worth showing beside a title.

    These are the attributes that a distance is named after ("years" after "year"): they show how
    items differ. Without any, the first ones. At most `max_names`, in the catalogue's order.
    """
    measured = {_stem(h.name) for h in catalogue.distances}
    named = [name for name in catalogue.attributes if _stem(name) in measured]
    return tuple((named or list(catalogue.attributes))[:max_names])


def short_values(value: Any, *, max_values: int = 3) -> tuple[str, ...]:
    """Return an attribute's value as short texts: the first of a list, or one, or none if unknown.

    Examples
    --------
    >>> short_values(["Drama", "Crime", "War", "Sport"])
    ('Drama', 'Crime', 'War')
    >>> short_values(1999), short_values(None)
    (('1999',), ())
    """
    if value is None or value == "":
        return ()
    if isinstance(value, (list, tuple, set, frozenset)):
        entries = sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value
        return tuple(text for entry in list(entries)[:max_values] for text in short_values(entry))
    if isinstance(value, float):
        return (f"{value:g}",)
    text = " ".join(str(value).split())
    return (text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…",)


def _stem(name: str) -> str:
    return name.lower().removesuffix("s")
