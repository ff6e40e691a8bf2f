"""From a log and policies to a table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from variegate.arrays import check_choice, check_fraction
from variegate.catalogue import Catalogue
from variegate.cli.console import Progress
from variegate.cli.logs.candidates import Shelves
from variegate.cli.logs.estimating import (
    Estimator,
    Value,
    logged_value,
    value_of,
    warnings_of_log,
)
from variegate.cli.logs.replaying import Setting, Tried, tried
from variegate.cli.logs.stories import Story, stories_of_file, stories_of_store
from variegate.cli.logs.surveying import Survey, surveyed
from variegate.errors import DataError
from variegate.evaluation.offpolicy import Estimate
from variegate.files import written_whole
from variegate.policies import PolicySpec, mixed_chances, parse_policy
from variegate.service.desk.rules import Rules
from variegate.service.desk.settling import Settler


@dataclass(frozen=True, eq=False)
class Source:
    """A log that can be gone through more than once."""

    where: str
    catalogue: Catalogue
    shelves: Shelves
    rules: Rules
    stories: Callable[[], Iterator[Story]]
    #: Whether policies that draw made lists of it
    was_drawn: bool = False


@dataclass(frozen=True)
class Asked:
    """What is to be estimated, and how."""

    policies: Sequence[str]
    mix: float | None = None
    k: int | None = None
    estimator: Estimator = "rips"
    self_normalised: bool = False
    #: Where to write the log as JSON lines
    out: str | None = None

    def __post_init__(self) -> None:
        check_choice("estimator", self.estimator, get_args(Estimator))
        if self.mix is not None:
            check_fraction(mix=self.mix)


@dataclass(frozen=True)
class Evaluated:
    """What was found."""

    lists: int
    k: int
    users: int
    #: What was mixed in, by the log
    chances: tuple[float, ...]
    logged: Estimate
    values: tuple[Value, ...]
    notes: tuple[str, ...] = field(default=())


def source_of_store(settler: Settler, where: str) -> Source:
    """Return the log of a service."""

    def stories() -> Iterator[Story]:
        with settler.store.reading() as reader:
            yield from stories_of_store(reader)

    with settler.store.reading() as reader:
        stock = settler.shelf.as_of(reader)
    shelves = Shelves(stock.open, len(settler.shelf.base))
    arms = settler.arms
    was_drawn = any(arms.new_policy(name, stock.catalogue).draws for name in arms.names)
    return Source(where, stock.catalogue, shelves, settler.rules, stories, was_drawn)


def source_of_file(path: str, catalogue: Catalogue, rules: Rules, k: int | None) -> Source:
    """Return the log in a file of JSON lines."""
    stories = tuple(stories_of_file(path, catalogue, k))
    shelves = Shelves(np.ones(len(catalogue), dtype=np.bool_), len(catalogue))
    return Source(path, catalogue, shelves, rules, lambda: iter(stories))


def evaluated(source: Source, asked: Asked, progress: Progress) -> Evaluated:
    """Go through the log twice: for what it holds, and with the policies."""
    specs = _checked(asked.policies, source.catalogue)
    with nullcontext() if asked.out is None else written_whole(asked.out) as file:
        write = (lambda _line: None) if file is None else file.write
        survey = surveyed(source.stories(), source.shelves, source.rules, write)
        k = survey.length(source.where, asked.k)  # a log that cannot tell is not written
    setting = Setting(
        source.shelves,
        source.rules,
        survey.chances,
        k,
        asked.mix,
        with_model=asked.estimator == "dr",
        was_drawn=source.was_drawn,
    )
    found = tried(
        source.stories(),
        specs,
        source.catalogue,
        setting,
        lambda done: progress(done, survey.users),
    )
    if found is None:
        raise DataError(
            f"{source.where}: of no list can be told what it was chosen from: give the service's "
            "own settings with --config"
        )
    values = tuple(
        value_of(found, trial, asked.estimator, self_normalised=asked.self_normalised)
        for trial in found.trials
    )
    return Evaluated(
        len(found.log),
        setting.k,
        len(set(found.groups)),
        survey.chances,
        logged_value(found),
        values,
        tuple(_notes(source, survey, setting, found)),
    )


def _checked(lines: Sequence[str], catalogue: Catalogue) -> list[PolicySpec]:
    """Return the policies, or raise InputError for one whose lists have no chances."""
    specs = [parse_policy(line) for line in dict.fromkeys(lines)]
    for spec in specs:
        mixed_chances(spec(catalogue), [0], 0.0)
    return specs


def plain(found: Evaluated) -> dict[str, Any]:
    """Return what was found as JSON can say it."""
    return {
        "lists": found.lists,
        "k": found.k,
        "users": found.users,
        "chances": list(found.chances),
        "logged": _plain_estimate(found.logged),
        "policies": {
            value.policy: {
                **({} if value.estimate is None else _plain_estimate(value.estimate)),
                "warnings": list(value.warnings),
            }
            for value in found.values
        },
        "notes": list(found.notes),
    }


def rows_of(found: Evaluated) -> Mapping[str, Sequence[str]]:
    """Return the cells of the table: value, interval, effective lists."""
    estimates = {value.policy: value.estimate for value in found.values}
    return {
        name: ["?", "", ""] if one is None else _cells(one)
        for name, one in {"the log itself": found.logged, **estimates}.items()
    }


def _cells(one: Estimate) -> list[str]:
    low, high = one.interval
    return [f"{one.value:.3f}", f"{low:.3f} to {high:.3f}", f"{one.effective_sample_size:.0f}"]


def _plain_estimate(one: Estimate) -> dict[str, Any]:
    return {
        "value": one.value,
        "standard_error": one.standard_error,
        "low": one.interval[0],
        "high": one.interval[1],
        "effective_lists": one.effective_sample_size,
    }


def _notes(source: Source, survey: Survey, setting: Setting, found: Tried) -> list[str]:
    notes = []
    others = survey.lengths.total() - survey.lengths[setting.k]
    if others:
        notes.append(f"{others} lists of other lengths were learnt from only: --k takes them")
    if found.untold:
        notes.append(
            f"{found.untold} lists were learnt from only: they were chosen from other items than "
            "the log tells (`candidates`, `exclude`, another mix; for lists of a policy that "
            "draws give the service's settings with --config)"
        )
    if not setting.chances:
        notes.append(
            "the propensities are not those of a mix: every list is taken to be chosen from all "
            f"{int(source.shelves.open.sum())} items"
        )
    return [*notes, *warnings_of_log(found)]
