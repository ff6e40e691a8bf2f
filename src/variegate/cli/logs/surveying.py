"""A first look at a log: how much there is of what, and which chance was mixed in."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from variegate.cli.logs.candidates import Chances, Shelves, remembering
from variegate.cli.logs.stories import Given, Story
from variegate.errors import DataError, InputError
from variegate.evaluation.offpolicy import log_line
from variegate.service.desk.rules import Rules


@dataclass(eq=False)
class Survey:
    """What a log holds."""

    users: int = 0
    lists: int = 0
    with_propensities: int = 0
    #: How many lists of each length have propensities and were answered
    lengths: Counter[int] = field(default_factory=Counter)
    #: The chances that lists were mixed with, the commonest first
    chances: tuple[float, ...] = ()

    def length(self, where: str, k: int | None) -> int:
        """Return the length of the lists to go by, or raise what keeps the log from telling."""
        if not self.lists:
            raise DataError(f"{where}: there are no lists yet")
        if not self.with_propensities:
            raise DataError(
                f"{where}: none of {self.lists} lists has propensities: serve with --mix 0.05 first"
            )
        if not self.lengths:
            count = self.with_propensities
            raise DataError(f"{where}: none of {count} lists with propensities was answered yet")
        if k is not None and k not in self.lengths:
            there = ", ".join(map(str, sorted(self.lengths)))
            raise InputError(f"`k` must be a length of answered lists ({there}), got {k}")
        return self.lengths.most_common(1)[0][0] if k is None else k


def surveyed(
    stories: Iterable[Story],
    shelves: Shelves,
    rules: Rules,
    write: Callable[[bytes], object] = lambda _line: None,
) -> Survey:
    """Return what there is; `write` is given each list that counts as a line of JSON."""
    found, chances = Survey(), Chances(shelves)
    for story in stories:
        found.users += 1
        for given, remembered in remembering(story, rules):
            found.lists += 1
            if given.propensities is None:
                continue
            found.with_propensities += 1
            chances.ask(given, remembered)
            if given.answered:
                found.lengths[len(given.slate)] += 1
                write(_line(story.user, given))
    found.chances = tuple(chances.found())
    return found


def _line(user: str | None, given: Given) -> bytes:
    chances = [] if given.propensities is None else given.propensities.tolist()
    seen, rewards = given.seen.tolist(), given.rewards.tolist()
    return log_line(given.slate.ids, rewards, chances, seen=seen, user=user).encode() + b"\n"
