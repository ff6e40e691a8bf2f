"""Import past interactions into a store: in small transactions, each line exactly once.

Each line has an idempotency key made of its content, which the store checks. So an import that was
stopped, at any point, is completed by running it again.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import Final, TypeAlias, TypeVar

from variegate.data.interactions import Line, PastInteraction, RejectedLine
from variegate.engine.codecs import check_id
from variegate.engine.executor import Executor
from variegate.engine.interactions import Interaction, LearnInteractions
from variegate.errors import ConflictError, InputError, VariegateError

#: Interactions of one command, and commands of one transaction, at most: others wait for it
_COMMAND: Final = 200
_TRANSACTION: Final = 10
#: Line numbers that the report names for each reason
_NAMED: Final = 5

_T = TypeVar("_T")
#: Called with each line that is rejected
OnRejected: TypeAlias = Callable[[RejectedLine], object]


@dataclass
class ImportReport:
    """What became of the lines of an import."""

    #: Learnt now, and learnt by an import before
    imported: int = 0
    known: int = 0
    rejected: int = 0
    #: How many lines were rejected, and the first of them, by reason
    reasons: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def reject(self, line: RejectedLine) -> None:
        """Count a line that was rejected."""
        self.rejected += 1
        for reason in line.reasons:
            kind, _, got = reason.partition(", got ")
            self.reasons[kind] += 1
            examples = self.examples.setdefault(kind, [])
            if len(examples) < _NAMED:
                examples.append(f"line {line.number}" + (f": {got}" if got else ""))


def import_interactions(
    executor: Executor,
    chunks: Iterable[tuple[Sequence[Line], int]],
    *,
    allow_repeats: bool = False,
    dry_run: bool = False,
    on_rejected: OnRejected = lambda _line: None,
    progress: Callable[[int], None] = lambda _done: None,
) -> ImportReport:
    """Teach users the interactions of a table.

    Within a chunk, a user's lines are learnt by time; chunks in their order.

    Parameters
    ----------
    chunks
        From `read_interactions`.
    allow_repeats
        See `Interaction`.
    dry_run
        Whether to check the lines only.
    progress
        Called with the bytes read so far.
    """
    report = ImportReport()

    def reject(line: RejectedLine) -> None:
        report.reject(line)
        on_rejected(line)

    for lines, done in chunks:
        valid = list(_checked(executor, lines, reject))
        if not dry_run:
            commands = _commands(valid, allow_repeats=allow_repeats)
            for group in _groups(commands, _TRANSACTION):
                _execute(executor, group, report, reject)
        progress(done)
    return report


_Command: TypeAlias = tuple[LearnInteractions, tuple[PastInteraction, ...]]


def _checked(
    executor: Executor, lines: Iterable[Line], reject: OnRejected
) -> Iterator[PastInteraction]:
    """Yield the lines whose users and items are valid."""
    with executor.store.reading() as reader:
        row_of = executor.live.as_of(reader).row_of
    for line in lines:
        if isinstance(line, RejectedLine):
            reject(line)
            continue
        reasons = []
        try:
            check_id("user", line.user)
        except InputError as error:
            reasons.append(str(error))
        if row_of(line.item) is None:
            reasons.append(f"the item must be in the catalogue, got {line.item[:80]!r}")
        if reasons:
            reject(RejectedLine(line.number, tuple(reasons)))
        else:
            yield line


def _commands(lines: Iterable[PastInteraction], *, allow_repeats: bool) -> Iterator[_Command]:
    """Yield the lines of each user, by time."""
    by_user: defaultdict[str, list[PastInteraction]] = defaultdict(list)
    for line in lines:
        by_user[line.user].append(line)
    for user, own in by_user.items():
        own.sort(key=lambda line: inf if line.time is None else line.time)
        for part in _groups(own, _COMMAND):
            interactions = tuple(
                Interaction({line.item: line.reward}, line.key, line.time, allow_repeats)
                for line in part
            )
            yield LearnInteractions(user, interactions), part


def _execute(
    executor: Executor, group: Sequence[_Command], report: ImportReport, reject: OnRejected
) -> None:
    outcomes = executor([command for command, _lines in group])
    for (command, lines), outcome in zip(group, outcomes, strict=True):
        if isinstance(outcome, dict):
            report.imported += outcome["new"]
            report.known += len(lines) - outcome["new"]
        elif not isinstance(outcome, VariegateError):
            raise outcome
        elif len(lines) == 1:
            reject(RejectedLine(lines[0].number, (_reason(outcome),)))
        else:  # one of them was refused, and with it all
            for one, line in zip(command.interactions, lines, strict=True):
                single = LearnInteractions(command.user, (one,))
                _execute(executor, [(single, (line,))], report, reject)


def _reason(error: VariegateError) -> str:
    is_known = isinstance(error, ConflictError)
    return "the line was imported before, with other options" if is_known else str(error)


def _groups(things: Iterable[_T], size: int) -> Iterator[tuple[_T, ...]]:
    rest = iter(things)
    while group := tuple(islice(rest, size)):
        yield group
