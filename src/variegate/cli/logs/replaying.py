"""Policies that learn along a log as it was, and how likely each would have shown its lists."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.catalogue import Catalogue
from variegate.cli.logs.candidates import Room, Shelves, remembering, room_of
from variegate.cli.logs.stories import Given, Lesson, Story
from variegate.errors import InputError
from variegate.evaluation.offpolicy import SlateLog, slate_log
from variegate.gains import Gains
from variegate.policies import Policy, PolicySpec, mixed_chances
from variegate.service.desk.rules import Rules


@dataclass(frozen=True, eq=False)
class Setting:
    """How the policies are tried.

    Parameters
    ----------
    chances
        Those that the log's lists were mixed with; empty where it is none of `mixed_slate`, and
        then every list is taken to be chosen from all items.
    k
        The lists that count; shorter and longer ones are learnt from only.
    mix
        The chance that the policies' lists are mixed with; None: each as the logged one.
    with_model
        Whether to work out what a doubly robust estimate needs.
    was_drawn
        Whether policies that draw may have made the lists.
    """

    shelves: Shelves
    rules: Rules
    chances: Sequence[float]
    k: int
    mix: float | None = None
    with_model: bool = False
    was_drawn: bool = False


@dataclass(eq=False)
class Trial:
    """One policy along the log."""

    spec: PolicySpec
    #: The chance of each logged item given those above it, a row a list
    chances: list[FloatArray] = field(default_factory=list)
    #: What the model takes: features of the logged items, and their mean over the policy's
    taken: list[FloatArray] = field(default_factory=list)
    means: list[FloatArray] = field(default_factory=list)
    #: Lists that it could not learn from, being of another kind of policy
    unlearnt: int = 0
    #: For policies that draw: one log, one result
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


@dataclass(frozen=True, eq=False)
class Tried:
    """The lists that count, and what each policy made of them."""

    log: SlateLog
    #: Whose each list is
    groups: tuple[str, ...]
    trials: tuple[Trial, ...]
    #: Lists that were left out since nobody can tell what they were chosen from
    untold: int


def tried(
    stories: Iterable[Story],
    specs: Sequence[PolicySpec],
    catalogue: Catalogue,
    setting: Setting,
    progress: Callable[[int], None] = lambda _done: None,
) -> Tried | None:
    """Let each policy start anew with each user; return None if no list counts."""
    trials = tuple(Trial(spec) for spec in specs)
    counted: list[Given] = []
    users: list[str | None] = []
    untold = 0
    for done, story in enumerate(stories, start=1):
        rooms, missing = _rooms(story, setting)
        untold += missing
        lists = [step for step in story.steps if isinstance(step, Given) and step in rooms]
        counted += lists
        users += [story.user] * len(lists)
        for trial in trials:
            _play(trial, story, rooms, catalogue, setting)
        progress(done)
    if not counted:
        return None
    groups = tuple(f"#{at}" if user is None else f"={user}" for at, user in enumerate(users))
    return Tried(_joined(counted, users), groups, trials, untold)


def _rooms(story: Story, setting: Setting) -> tuple[dict[Given, Room], int]:
    """Return what the lists that count were chosen from, and how many would count but for that."""
    rooms: dict[Given, Room] = {}
    missing = 0
    for given, remembered in remembering(story, setting.rules):
        if not (
            given.answered and given.propensities is not None and len(given.slate) == setting.k
        ):
            continue
        room: Room | None = Room(setting.shelves.open, 0.0)
        if setting.chances:
            told = given, remembered, setting.shelves, setting.chances
            room = room_of(*told, was_drawn=setting.was_drawn)
        if room is None:
            missing += 1
        else:
            rooms[given] = room
    return rooms, missing


def _play(
    trial: Trial, story: Story, rooms: dict[Given, Room], catalogue: Catalogue, setting: Setting
) -> None:
    policy = trial.spec(catalogue)
    for step in story.steps:
        if isinstance(step, Lesson):
            slate = step.given.slate_for(policy.normaliser)
            try:
                policy.update(slate, step.rewards, seen=step.seen)
            except InputError:
                trial.unlearnt += 1
        elif isinstance(step, Given) and step in rooms:
            _note(trial, policy, step, rooms[step], setting)


def _note(trial: Trial, policy: Policy, given: Given, room: Room, setting: Setting) -> None:
    chance = room.chance if setting.mix is None else setting.mix
    items = given.slate.items
    chances, choices = mixed_chances(policy, items, chance, room.free, rng=trial.rng)
    trial.chances.append(chances)
    if setting.with_model:
        rows = np.flatnonzero(room.free | _mask(len(room.free), items))
        gains = Gains(policy.catalogue, rows, len(items), "none")
        places = np.searchsorted(rows, items), np.searchsorted(rows, choices)
        taken, means = _features(gains, *places, room.free[rows], chance)
        trial.taken.append(taken)
        trial.means.append(means)


def _features(
    gains: Gains, items: IndexArray, choices: IndexArray, is_free: MaskArray, chance: float
) -> tuple[FloatArray, FloatArray]:
    """Return (1, z, x) of each logged item, and its mean over what the policy would put there."""
    taken, means, left = [], [], is_free.copy()
    for item, choice in zip(items.tolist(), choices.tolist(), strict=True):
        table = np.hstack([np.ones((len(left), 1)), gains.z, gains.x])
        taken.append(table[item])
        means.append(chance * table[left].mean(axis=0) + (1.0 - chance) * table[choice])
        left[item] = False
        gains.take(item)
    return np.array(taken), np.array(means)


def _mask(size: int, rows: IndexArray) -> MaskArray:
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


def _joined(lists: Sequence[Given], users: Sequence[str | None]) -> SlateLog:
    return slate_log(
        [one.slate.items for one in lists],
        [one.rewards for one in lists],
        [one.propensities for one in lists if one.propensities is not None],
        seen=[one.seen for one in lists],
        users=users,
    )
