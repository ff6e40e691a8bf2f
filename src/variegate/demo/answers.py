"""What a person types under a list."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from variegate.errors import InputError


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
