"""One person and one policy, taking turns."""

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
from variegate.policies.beliefs import Belief, variety_of


@dataclass(frozen=True, eq=False)
class Turn:
    """A list that was shown, and what the person made of it."""

    slate: Slate
    #: 1 where the person picked, else 0, (K,)
    rewards: FloatArray

    @property
    def hits(self) -> int:
        """How many were picked."""
        return int(self.rewards.sum())

    @property
    def picked(self) -> IndexArray:
        """The rows that were picked, in the order shown."""
        return self.slate.items[self.rewards > 0]


class Session:
    """Lists for one person, each of items not shown before, until there are none left.

    Parameters
    ----------
    policy
        What recommends and learns.
    k
        Items in a list; the last list may be shorter.
    rng
        For policies that draw.

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
        """How many were picked from each list so far."""
        return tuple(turn.hits for turn in self.turns)

    @property
    def picked(self) -> tuple[int, ...]:
        """The rows that were picked so far, in the order shown."""
        return tuple(int(row) for turn in self.turns for row in turn.picked)

    def slate(self) -> Slate:
        """Return the list that waits for an answer; the same one until it is answered."""
        if self.is_over:
            raise InputError(f"every item of {self.catalogue} was shown: start a new session")
        if self._slate is None:
            k = min(self.k, int(self._free.sum()))
            self._slate = self.policy.recommend(k, candidates=self._free, rng=self._rng)
        return self._slate

    def answer(self, picks: Iterable[int]) -> Turn:
        """Learn which positions, from 0, of the list were picked; the next list is another."""
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


class Wish(Enum):
    """What an answer asks for."""

    PICK = "pick"
    WHY = "why"
    HELP = "help"
    QUIT = "quit"


#: What can be typed in place of numbers.
WORDS: Final = {
    "w": Wish.WHY,
    "why": Wish.WHY,
    "?": Wish.HELP,
    "h": Wish.HELP,
    "help": Wish.HELP,
    "q": Wish.QUIT,
    "quit": Wish.QUIT,
    "exit": Wish.QUIT,
}


@dataclass(frozen=True)
class Answer:
    """A wish, and for picks the positions, from 0, sorted."""

    wish: Wish
    picks: tuple[int, ...] = ()


def read_answer(text: str, k: int) -> Answer:
    """Return what `text` asks for under a list of `k`, or raise InputError that says what would do.

    Numbers count from 1, as people do, with blanks, commas or semicolons between them; one that
    comes twice counts once, and no number at all means that nothing is picked.

    Examples
    --------
    >>> read_answer("1, 4 9", 10).picks
    (0, 3, 8)
    >>> read_answer("q", 10).wish
    <Wish.QUIT: 'quit'>
    """
    typed = text.strip().lower()
    if typed in WORDS:
        return Answer(WORDS[typed])
    numbers = [_number(word, k) for word in re.split(r"[\s,;]+", typed) if word]
    return Answer(Wish.PICK, tuple(sorted({number - 1 for number in numbers})))


def _number(word: str, k: int) -> int:
    would_do = f"type numbers from 1 to {k}, such as 1 {k}, or ? for help"
    shown = word if len(word) <= 20 else f"{word[:20]}…"
    if not word.isdecimal():
        raise InputError(f"`{shown}` is not a number: {would_do}")
    # Python refuses to read numbers of thousands of digits, and no list is that long.
    if len(word) > 9 or not 1 <= int(word) <= k:
        raise InputError(f"`{shown}` is not in this list: {would_do}")
    return int(word)


#: Items that typical distances are measured from. On the films they come within 2% of all pairs.
SAMPLE = 50


def distances_above(catalogue: Catalogue, items: IndexArray) -> FloatArray:
    """Return each item's mean distance to the items above it, (K, m); nan for the first.

    These are plain means, whatever the policy's normaliser is.
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


def new_in(
    catalogue: Catalogue, items: IndexArray, typical: FloatArray, *, most: int = 2
) -> list[tuple[str, ...]]:
    """Return for each item the names of the distances that set it apart from all above it.

    Those in which even the nearest item above is farther away than two items typically are, the
    farthest first, and at most `most`; none for the first item.
    """
    k = len(items)
    nearest = np.zeros((k, catalogue.m))
    for column, h in enumerate(catalogue.distances):
        pairs = h.among(items).matrix()
        nearest[1:, column] = [pairs[place, :place].min() for place in range(1, k)]
    names = [h.name for h in catalogue.distances]
    named = []
    for ratios in nearest / np.where(typical > 0, typical, np.inf):
        order = np.argsort(-ratios, kind="stable")[:most]
        named.append(tuple(names[place] for place in order if ratios[place] > 1.0))
    return named


#: Standard errors from which on a difference of two means is more than luck.
CLEAR: Final = 2.0
#: Fewer picks, or fewer items passed by, are no ground to compare.
FEWEST: Final = 3


class Contrast(Enum):
    """How picks stood to the items above them, beside the items that were passed by."""

    FARTHER = "farther apart"
    CLOSER = "closer together"
    SAME = "much the same"
    UNKNOWN = "too few to say"


@dataclass(frozen=True)
class Variety:
    """One kind of variety: a fact of the picks so far, and a belief.

    They can differ. The belief is a weight of the model, which takes what the items are into
    account and needs many lists; and a picked item may be like those above merely because all
    of them are what the person likes.
    """

    #: The weight of the distance (beta) with its interval
    belief: Belief
    #: Mean distance of the picked items to those above them; nan without any
    picked: float
    #: The same of the items passed by
    passed: float
    contrast: Contrast

    @property
    def name(self) -> str:
        """The distance."""
        return self.belief.name


def varieties(session: Session) -> list[Variety]:
    """Return what is known of the person's wish for variety, one entry a distance."""
    picked, passed = _picked_and_passed(session)
    return [
        Variety(
            belief,
            _mean(picked[:, i]),
            _mean(passed[:, i]),
            contrast(picked[:, i], passed[:, i]),
        )
        for i, belief in enumerate(variety_of(session.policy))
    ]


def contrast(picked: FloatArray, passed: FloatArray) -> Contrast:
    """Return how the first numbers stand to the second, by the standard error of the means."""
    if min(len(picked), len(passed)) < FEWEST:
        return Contrast.UNKNOWN
    error = np.sqrt(picked.var(ddof=1) / len(picked) + passed.var(ddof=1) / len(passed))
    difference = picked.mean() - passed.mean()
    if abs(difference) <= CLEAR * error or difference == 0.0:
        return Contrast.SAME
    return Contrast.FARTHER if difference > 0 else Contrast.CLOSER


def _picked_and_passed(session: Session) -> tuple[FloatArray, FloatArray]:
    """Return the distances to the items above, (n, m), of both; no list's first item has any."""
    picked: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    passed: list[FloatArray] = [np.zeros((0, session.catalogue.m))]
    for turn in session.turns:
        above, liked = distances_above(session.catalogue, turn.slate.items)[1:], turn.rewards[1:]
        picked.append(above[liked > 0])
        passed.append(above[liked == 0])
    return np.vstack(picked), np.vstack(passed)


def _mean(numbers: FloatArray | Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")


#: Longer texts are cut.
MOST_CHARACTERS: Final = 40


def shown_attributes(catalogue: Catalogue, *, most: int = 3) -> tuple[str, ...]:
    """Return the names of the attributes worth showing beside a title.

    Those that a distance is named after ("years" is named after "year"), for they say what makes
    items differ; where there are none, the first ones. At most `most`, in the catalogue's order.
    """
    measured = {_stem(h.name) for h in catalogue.distances}
    named = [name for name in catalogue.attributes if _stem(name) in measured]
    return tuple((named or list(catalogue.attributes))[:most])


def in_short(value: Any, *, most: int = 3) -> tuple[str, ...]:
    """Return an attribute's value as a few short texts: the first `most` of a list's, else one.

    What is not known has none.

    Examples
    --------
    >>> in_short(["Drama", "Crime", "War", "Sport"])
    ('Drama', 'Crime', 'War')
    >>> in_short(1999), in_short(None)
    (('1999',), ())
    """
    if value is None or value == "":
        return ()
    if isinstance(value, (list, tuple, set, frozenset)):
        entries = sorted(map(str, value)) if isinstance(value, (set, frozenset)) else value
        return tuple(text for entry in list(entries)[:most] for text in in_short(entry))
    if isinstance(value, float):
        return (f"{value:g}",)
    text = " ".join(str(value).split())
    return (text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…",)


def _stem(name: str) -> str:
    return name.lower().removesuffix("s")
