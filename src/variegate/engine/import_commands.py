"""Lines of an export into a store: users, each whole or not at all, items and priors.

Taken in again, a line changes nothing, so an import that stopped midway is finished by sending
it again.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.codecs import SeenItems, pack_slate, unpack_slate
from variegate.engine.experiment import Experiment
from variegate.engine.export_schema import (
    ArrayLine,
    Entry,
    HistoryLine,
    ImportFile,
    ItemLine,
    Line,
    PriorLine,
    SlateLine,
    StateLine,
    UserLine,
    decoded,
)
from variegate.engine.items import check_new_id, lock_catalogue, new_snapshot, validate_item
from variegate.engine.queue import CommandResult
from variegate.engine.replay import iter_events, iter_slates, replay_user
from variegate.engine.terms import Terms
from variegate.errors import ConflictError, DataError, NotFoundError, StateError
from variegate.model.catalogue import Catalogue
from variegate.policies import Dial, State
from variegate.prior import Prior
from variegate.store import (
    ITEMS_REVISION,
    Batch,
    EventRow,
    ItemChange,
    ItemRow,
    PriorRow,
    Reader,
    SlateRow,
    UserRow,
)

#: By how much a score may be above the features: it is a sum of them, weighted
_LARGEST_SCORE: Final = 1e9
#: A user's lines with their numbers, parsed one at a time
UserLines = Iterable[tuple[int, Line]]


class Target:
    """Turns lines into the rows of a store over one catalogue.

    Parameters
    ----------
    coming
        Ids of items that the same import adds: they have no rows yet, and 0 stands for them.
    keeps_revisions
        Whether revisions of items mean the same here as where lists were given. Otherwise lists
        are without one: nobody knows any more what they were chosen from.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        coming: Collection[str] = (),
        *,
        keeps_revisions: bool = False,
    ) -> None:
        self.catalogue, self._coming = catalogue, coming
        self.keeps_revisions = keeps_revisions
        self._distances = [h.name for h in catalogue.distances]
        # A list has the features of items, and sums of distances.
        self._largest = max(1e6, float(np.abs(catalogue.features).max(initial=0.0)))

    def user(self, line: UserLine) -> UserRow:
        """Return the row of a user."""
        items = [item for item, _second in line.shown]
        if len(set(items)) != len(items):
            raise DataError("`shown` must have each item once")
        rows = self._rows("shown", items)
        shown = list(zip(rows, [second for _item, second in line.shown], strict=True))
        return UserRow(
            id=line.user,
            policy=line.policy,
            state=None if line.state is None else _state_of(line.state).to_bytes(),
            shown=SeenItems.from_entries(shown).to_bytes(),
            slates=line.slates,
            version=0,
            created=line.created,
            changed=line.changed,
        )

    def slate(self, line: SlateLine, user: str) -> SlateRow:
        """Return the row of a list, with its items in the rows that they have here."""
        told = [reward for reward in line.rewards if reward is not None]
        row = SlateRow(
            **{
                **line.model_dump(),
                "user_id": user,
                "items": tuple(line.items),
                "features": decoded("features", line.features),
                "diversity": self._diversity(line),
                "terms": self.kept_terms(line.terms),
                "earned": sum(told, 0.0),
                "answered": bool(told),
            }
        )
        slate = unpack_slate(row)
        shapes = slate.relevance.shape, slate.diversity.shape
        parts = slate.relevance, slate.diversity, slate.coverage, slate.scores / _LARGEST_SCORE
        fits = shapes == ((line.k, self.catalogue.d), (line.k, self.catalogue.m))
        if not fits or not all((np.abs(part) <= self._largest).all() for part in parts):
            raise DataError(
                f"`features` of list {line.id!r} must be those of {self.catalogue}, none above "
                f"{self._largest:g}"
            )
        terms = Terms.from_dict(line.terms)
        for name in ("candidates", "exclude"):
            self._rows(f"terms.{name}", getattr(terms, name) or ())
        self._rows("terms.displaced", [item for item, _second in terms.displaced])
        if terms.dial is not None:
            self._check_dial(terms.dial)
        items = np.array(self._rows("items", line.items), dtype=np.intp)
        return row._replace(features=pack_slate(replace(slate, items=items)))

    def _check_dial(self, dial: Dial) -> None:
        for bound in (dial.floor, dial.ceiling):
            unknown = set(bound if isinstance(bound, Mapping) else ()) - set(self._distances)
            if unknown:
                raise DataError(
                    f"`terms.dial` must be of {self._distances}, got {sorted(unknown)[0]!r:.40}"
                )

    def kept_terms(self, terms: dict[str, Any]) -> dict[str, Any]:
        """Return what a list was given under as it is kept here."""
        if self.keeps_revisions:
            return terms
        return {name: value for name, value in terms.items() if name != "revision"}

    def _diversity(self, line: SlateLine) -> dict[str, float]:
        wanted = self._distances if line.k > 1 else []
        if line.diversity.keys() != set(wanted):
            raise DataError(
                f"`diversity` of list {line.id!r} must be of {wanted}, "
                f"got {sorted(line.diversity)[:8]}"
            )
        return {name: line.diversity[name] for name in wanted}

    def _rows(self, field: str, items: Sequence[str]) -> list[int]:
        try:
            known = self.catalogue.rows([item for item in items if item not in self._coming])
        except NotFoundError as error:
            raise DataError(f"`{field}`: {error}: import or add the item first") from None
        rows = iter(known.tolist())
        return [0 if item in self._coming else next(rows) for item in items]


def _state_of(line: StateLine) -> State:
    arrays = {name: _array(name, array) for name, array in line.arrays.items()}
    state = State(line.policy, arrays, line.version)
    state.check()
    return state


def _array(name: str, given: ArrayLine | list[Any]) -> Any:
    try:
        if isinstance(given, list):
            array = np.array(given, dtype=np.float64)
        else:
            raw = decoded(f"state.arrays.{name}", given.data)
            array = np.frombuffer(raw, "<f8").reshape(given.shape).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"`state.arrays.{name}` must be an array of numbers") from None
    return array


def _parts(lines: UserLines, first: UserLine) -> Iterator[tuple[int, UserLine | HistoryLine]]:
    """Give the lines of a user, of which the first was parsed already."""
    for number, line in lines:
        if isinstance(line, HistoryLine):
            yield number, line
        else:
            yield number, first


def _events(line: UserLine | HistoryLine, user: str) -> list[EventRow]:
    return [
        EventRow(None, one.time, user, one.slate, one.kind, one.body.model_dump())
        for one in line.events
    ]


def is_same_user(
    reader: Reader, target: Target, experiment: Experiment, kept: UserRow, lines: UserLines
) -> bool:
    """Return whether a user is in the store exactly as lines have them."""
    lists, events = iter_slates(reader, kept.id), iter_events(reader, kept.id)
    first: UserLine | None = None
    seen = _Seen()
    for _number, line in lines:
        if not isinstance(line, (UserLine, HistoryLine)):
            return False
        first = line if isinstance(line, UserLine) else first
        slates = [target.slate(one, kept.id) for one in line.lists]
        if any(_normal(target, next(lists, None)) != row for row in slates):
            return False
        told = _events(line, kept.id)
        if any(_unnumbered(next(events, None)) != event for event in told):
            return False
        seen.add(line, slates, told)
    if first is None or next(lists, None) is not None or next(events, None) is not None:
        return False
    user = target.user(first)._replace(version=kept.version)
    # A state that was learnt again from the events, which are the same, is another.
    is_other = seen.must_relearn(experiment, target.catalogue, user)
    return (user._replace(state=kept.state) if is_other else user) == kept


def _normal(target: Target, row: SlateRow | None) -> SlateRow | None:
    """Return a list with its features and its terms as they would be imported."""
    return row and row._replace(
        features=pack_slate(unpack_slate(row)), terms=target.kept_terms(row.terms)
    )


def _unnumbered(event: EventRow | None) -> EventRow | None:
    return event and event._replace(seq=None)


class _Seen:
    """What the lines of one user tell about whether their state can be kept."""

    def __init__(self) -> None:
        self._has_moved = self._has_taught = False

    def add(
        self, line: UserLine | HistoryLine, slates: Sequence[SlateRow], events: Sequence[EventRow]
    ) -> None:
        """Take in the lists and events of a line."""
        self._has_moved = self._has_moved or any(
            decoded("features", old.features) != new.features
            for old, new in zip(line.lists, slates, strict=True)
        )
        self._has_taught = self._has_taught or any(event.body.get("taught") for event in events)

    def must_relearn(self, experiment: Experiment, catalogue: Catalogue, user: UserRow) -> bool:
        """Return whether the state must be learnt from the events: it is not one for this store.

        What was learnt may be kept by rows, and the items may have others here.
        """
        if user.policy not in experiment.specs:
            return False
        try:
            experiment.policy_of(user, catalogue)
        except StateError:
            return True
        return self._has_moved or (user.state is None and self._has_taught)


@dataclass(frozen=True, slots=True)
class ImportUsers:
    """Take in the users of a few entries of a file, all of them or none.

    Parameters
    ----------
    replace
        Whether a user that is there with other content is replaced; else that is a ConflictError.
    """

    file: ImportFile
    entries: tuple[Entry, ...]
    replace: bool = False
    keeps_revisions: bool = False
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Keep them."""
        entries = {entry.name: entry for entry in self.entries}
        target = self._target(batch, executor)
        firsts = {name: self._first(entry) for name, entry in entries.items()}
        rows = {name: self._row(target, entries[name], line) for name, line in firsts.items()}
        # New users first, as every batch does: two that wait for each other would stand still.
        new = rows.keys() - batch.existing_users(rows)
        batch.ensure_users([rows[name] for name in new])
        locked = batch.lock_users(rows)
        # Once users are locked nobody can give them an item that came a moment ago.
        target = self._target(batch, executor)
        changed = 0
        for name in sorted(rows):
            is_new = name in new and locked.get(name) == rows[name]
            kept = None if is_new else locked.get(name)
            lines = partial(self.file.lines, entries[name])
            if kept is not None:
                with self.file.located(entries[name].number):
                    if is_same_user(batch, target, executor.experiment, kept, lines()):
                        continue
                    self._make_room(batch, rows[name])
            self._take(
                batch, target, executor.experiment, rows[name], _parts(lines(), firsts[name])
            )
            changed += 1
        # A policy that is remembered of somebody who was replaced has another state: not found.
        return CommandResult({"users": len(rows), "changed": changed})

    def _target(self, batch: Batch, executor: Any) -> Target:
        catalogue = executor.live.as_of(batch).catalogue
        return Target(catalogue, keeps_revisions=self.keeps_revisions)

    def _first(self, entry: Entry) -> UserLine:
        for number, line in self.file.lines(entry):
            if isinstance(line, UserLine):
                return line
            with self.file.located(number):
                raise DataError("must be a user: the file was changed meanwhile")
        raise DataError(f"{self.file.path}: was cut off meanwhile")

    def _row(self, target: Target, entry: Entry, line: UserLine) -> UserRow:
        with self.file.located(entry.number):
            return target.user(line)

    def _make_room(self, batch: Batch, row: UserRow) -> None:
        if not self.replace:
            raise different_user(row.id)
        batch.forget_user(row.id)
        batch.ensure_users([row])

    def _take(
        self,
        batch: Batch,
        target: Target,
        experiment: Experiment,
        user: UserRow,
        lines: Iterator[tuple[int, UserLine | HistoryLine]],
    ) -> None:
        seen = _Seen()
        for number, line in lines:
            with self.file.located(number):
                slates = [target.slate(one, user.id) for one in line.lists]
                events = _events(line, user.id)
                taken = sorted(batch.slate_owners([row.id for row in slates]))
                if taken:
                    raise ConflictError(f"list {taken[0]!r} is here already, of another user")
            batch.add_slates(slates)
            batch.add_events(events)
            seen.add(line, slates, events)
        if seen.must_relearn(experiment, target.catalogue, user):
            policy = replay_user(
                batch, user.id, experiment.new_policy(user.policy, target.catalogue)
            )
            batch.save_users([user._replace(state=policy.state().to_bytes())])


def different_user(user: str) -> ConflictError:
    """Return the error for a user that is there with other content."""
    return ConflictError(f"user {user!r} is here already with other content: ask to replace them")


@dataclass(frozen=True, slots=True)
class ImportItems:
    """Take in the items and priors of a few entries of a file, all of them or none.

    Parameters
    ----------
    replace
        Whether an item or a prior that is there and differs is replaced; else that is a
        ConflictError.
    restores
        The last revision and the first that is kept, to restore items with all of their changes
        into a store that has none; None to add and change items, each by its last line.
    """

    file: ImportFile
    entries: tuple[Entry, ...]
    replace: bool = False
    restores: tuple[int, int] | None = None
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Keep them, once every policy has given a list with them."""
        snapshot, kept = lock_catalogue(batch, executor)
        lines = [line for entry in self.entries for line in self.file.lines(entry)]
        items = [(number, line) for number, line in lines if isinstance(line, ItemLine)]
        if self.restores is None:
            self._merge(batch, snapshot, kept, items)
        elif items:
            self._restore(batch, snapshot.catalogue, kept, items)
        for number, line in lines:
            if isinstance(line, PriorLine):
                with self.file.located(number):
                    self._take_prior(batch, snapshot.catalogue, line)
        if self.restores is not None and int(batch.meta(ITEMS_REVISION) or 0) < self.restores[0]:
            batch.set_meta(ITEMS_REVISION, str(self.restores[0]))
        later = partial(executor.live.install, new_snapshot(batch, executor))
        return CommandResult({"items": len(self.entries)}, later)

    def _restore(
        self,
        batch: Batch,
        catalogue: Catalogue,
        kept: Mapping[str, ItemRow],
        lines: Sequence[tuple[int, ItemLine]],
    ) -> None:
        if kept:
            raise ConflictError("items were added or changed meanwhile: send the import again")
        changes = []
        for number, line in lines:
            with self.file.located(number):
                row = item_row(catalogue, line, line.row)
                changes.append(ItemChange(line.revision, row, line.time))
        _last, first = self.restores or (0, 0)
        batch.restore_items(changes, first)

    def _merge(
        self,
        batch: Batch,
        snapshot: CatalogueSnapshot,
        kept: Mapping[str, ItemRow],
        lines: Sequence[tuple[int, ItemLine]],
    ) -> None:
        size = len(snapshot.catalogue)
        for number, line in lines:
            row = snapshot.row_of(line.id)
            known = kept.get(line.id)
            with self.file.located(number):
                new = item_row(snapshot.catalogue, line, size if row is None else row)
                if known is not None and (known.retired, known.data) == (new.retired, new.data):
                    continue
                if known is not None and not self.replace:
                    raise ConflictError(f"item {line.id!r} is here already with other data")
            if known is not None:
                batch.update_items([new])
            else:
                batch.add_items([new])
                size += row is None

    def _take_prior(self, batch: Batch, catalogue: Catalogue, line: PriorLine) -> None:
        data = prior_data(catalogue, line)
        known = batch.priors().get(line.policy, PriorRow(line.policy))
        new = known._replace(data=data, users=line.users, fitted=line.fitted)
        if new == known:
            return
        if known.data is not None and not self.replace:
            raise ConflictError(f"policy {line.policy!r} has another fitted prior already")
        batch.save_prior(new)


def item_row(catalogue: Catalogue, line: ItemLine, row: int) -> ItemRow:
    """Return the row of an item, or raise InputError or DataError."""
    if line.data is None:
        if row >= len(catalogue):
            raise DataError(f"`data` must be there for {line.id!r}, which is a new item")
        return ItemRow(row, line.id, line.retired, None)
    if row >= len(catalogue):
        check_new_id(line.id)
    data = validate_item(catalogue, line.data.model_dump(exclude_unset=True))
    return ItemRow(row, line.id, line.retired, data)


def prior_data(catalogue: Catalogue, line: PriorLine) -> bytes:
    """Return the bytes of a prior, or raise InputError or DataError."""
    data = decoded("data", line.data)
    Prior.from_bytes(data, where="`data`").check(catalogue)
    return data
