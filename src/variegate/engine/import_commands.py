"""Import lines of an export: users, each in one transaction, items and priors.

Importing a line again changes nothing, so an import that stopped midway is completed by sending
it again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    decode_base64,
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

#: The largest ratio of a score to the features: it is their weighted sum.
_MAX_SCORE: Final = 1e9


class LineConverter:
    """Converts lines to the rows of a store over one catalogue.

    Parameters
    ----------
    coming
        Ids of items that the same import adds: they have no rows yet, and 0 is used.
    keeps_revisions
        Whether revisions of items mean the same here as in the export. Otherwise lists are stored
        without one: the items that they were chosen from are not known.
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

    def user_row(self, line: UserLine) -> UserRow:
        """Return the row of a user."""
        items = [item for item, _second in line.shown]
        if len(set(items)) != len(items):
            raise DataError("`shown` must have each item once")
        rows = self._rows("shown", items)
        shown = list(zip(rows, [second for _item, second in line.shown], strict=True))
        return UserRow(
            id=line.user,
            policy=line.policy,
            state=None if line.state is None else _parse_state(line.state).to_bytes(),
            shown=SeenItems.from_entries(shown).to_bytes(),
            slates=line.slates,
            version=0,
            created=line.created,
            changed=line.changed,
        )

    def slate_row(self, line: SlateLine, user: str) -> SlateRow:
        """Return the row of a list, with its items by the rows that they have here."""
        rewards = [reward for reward in line.rewards if reward is not None]
        row = SlateRow(
            **{
                **line.model_dump(),
                "user_id": user,
                "items": tuple(line.items),
                "features": decode_base64("features", line.features),
                "diversity": self._diversity(line),
                "terms": self.stored_terms(line.terms),
                "earned": sum(rewards, 0.0),
                "answered": bool(rewards),
            }
        )
        slate = unpack_slate(row)
        shapes = slate.relevance.shape, slate.diversity.shape
        parts = slate.relevance, slate.diversity, slate.coverage, slate.scores / _MAX_SCORE
        fits = shapes == ((line.k, self.catalogue.d), (line.k, self.catalogue.m))
        if not fits or not all((np.abs(part) <= self._largest).all() for part in parts):
            raise DataError(
                f"`features` of list {line.id!r} must be those of {self.catalogue}, none above "
                f"{self._largest:g}"
            )
        self._check_terms(Terms.from_dict(line.terms))
        items = np.array(self._rows("items", line.items), dtype=np.intp)
        return row._replace(features=pack_slate(replace(slate, items=items)))

    def stored_terms(self, terms: dict[str, Any]) -> dict[str, Any]:
        """Return the terms of a list as they are stored here."""
        if self.keeps_revisions:
            return terms
        return {name: value for name, value in terms.items() if name != "revision"}

    def as_imported(self, row: SlateRow | None) -> SlateRow | None:
        """Return a stored list with features and terms as an import would store them."""
        return row and row._replace(
            features=pack_slate(unpack_slate(row)), terms=self.stored_terms(row.terms)
        )

    def _check_terms(self, terms: Terms) -> None:
        for name in ("candidates", "exclude"):
            self._rows(f"terms.{name}", getattr(terms, name) or ())
        self._rows("terms.displaced", [item for item, _second in terms.displaced])
        dial = terms.dial or Dial()
        for bound in (dial.floor, dial.ceiling):
            unknown = set(bound if isinstance(bound, Mapping) else ()) - set(self._distances)
            if unknown:
                raise DataError(
                    f"`terms.dial` must name distances among {self._distances}, "
                    f"got {sorted(unknown)[0]!r:.40}"
                )

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


def _parse_state(line: StateLine) -> State:
    arrays = {name: _parse_array(name, array) for name, array in line.arrays.items()}
    state = State(line.policy, arrays, line.version)
    state.check()
    return state


def _parse_array(name: str, given: ArrayLine | list[Any]) -> Any:
    try:
        if isinstance(given, list):
            return np.array(given, dtype=np.float64)
        raw = decode_base64(f"state.arrays.{name}", given.data)
        return np.frombuffer(raw, "<f8").reshape(given.shape).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"`state.arrays.{name}` must be an array of numbers") from None


def _event_rows(line: UserLine | HistoryLine, user: str) -> list[EventRow]:
    return [
        EventRow(None, one.time, user, one.slate, one.kind, one.body.model_dump())
        for one in line.events
    ]


class _StateValidity:
    """Whether the imported state of a user is valid here, by the lines of their history."""

    def __init__(self) -> None:
        self._has_moved = self._has_taught = False

    def add(
        self, line: UserLine | HistoryLine, slates: Sequence[SlateRow], events: Sequence[EventRow]
    ) -> None:
        """Add the lists and events of a line."""
        self._has_moved = self._has_moved or any(
            decode_base64("features", old.features) != new.features
            for old, new in zip(line.lists, slates, strict=True)
        )
        self._has_taught = self._has_taught or any(event.body.get("taught") for event in events)

    def must_relearn(self, experiment: Experiment, catalogue: Catalogue, user: UserRow) -> bool:
        """Return whether the state must be relearnt from the events.

        A state may be stored by rows, and the items may have other rows here.
        """
        if user.policy not in experiment.specs:
            return False
        try:
            experiment.policy_of(user, catalogue)
        except StateError:
            return True
        return self._has_moved or (user.state is None and self._has_taught)


def is_same_user(
    reader: Reader,
    converter: LineConverter,
    experiment: Experiment,
    stored: UserRow,
    lines: Iterable[tuple[int, Line]],
) -> bool:
    """Return whether a user is in the store exactly as in numbered lines."""
    slates, events = iter_slates(reader, stored.id), iter_events(reader, stored.id)
    first: UserLine | None = None
    validity = _StateValidity()
    for _number, line in lines:
        if not isinstance(line, (UserLine, HistoryLine)):
            return False
        first = line if isinstance(line, UserLine) else first
        new_slates = [converter.slate_row(one, stored.id) for one in line.lists]
        if any(converter.as_imported(next(slates, None)) != row for row in new_slates):
            return False
        new_events = _event_rows(line, stored.id)
        if any(_without_number(next(events, None)) != event for event in new_events):
            return False
        validity.add(line, new_slates, new_events)
    if first is None or next(slates, None) is not None or next(events, None) is not None:
        return False
    user = converter.user_row(first)._replace(version=stored.version)
    # A state that was relearnt from the events, which are the same, is another.
    if validity.must_relearn(experiment, converter.catalogue, user):
        user = user._replace(state=stored.state)
    return user == stored


def _without_number(event: EventRow | None) -> EventRow | None:
    return event and event._replace(seq=None)


def user_conflict(user: str) -> ConflictError:
    """Return the error for a user that is in the store with other content."""
    return ConflictError(f"user {user!r} exists with other content: ask to replace them")


@dataclass(frozen=True, slots=True)
class ImportUsers:
    """Import the users of some entries of a file, all of them or none.

    Parameters
    ----------
    replace
        Whether to replace a user that exists with other content; else that is a ConflictError.
    """

    file: ImportFile
    entries: tuple[Entry, ...]
    replace: bool = False
    keeps_revisions: bool = False
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Store them."""
        experiment, converter = executor.experiment, self._converter(batch, executor)
        rows = {entry.name: self._user_row(converter, entry) for entry in self.entries}
        # New users first, as in every batch: else two batches could wait for each other.
        new = rows.keys() - batch.existing_users(rows)
        batch.ensure_users([rows[name] for name in new])
        locked = batch.lock_users(rows)
        # With users locked, no other transaction can show them an item that is not known here.
        converter = self._converter(batch, executor)
        changed = 0
        for entry in sorted(self.entries):
            row, stored = rows[entry.name], locked.get(entry.name)
            if stored is not None and not (entry.name in new and stored == row):
                with self.file.at_line(entry.number):
                    lines = self.file.lines(entry)
                    if is_same_user(batch, converter, experiment, stored, lines):
                        continue
                    self._replace_user(batch, row)
            self._add_history(batch, converter, experiment, row, entry)
            changed += 1
        # A cached policy of a user who was replaced has another state: it is not used.
        return CommandResult({"users": len(rows), "changed": changed})

    def _converter(self, batch: Batch, executor: Any) -> LineConverter:
        catalogue = executor.live.as_of(batch).catalogue
        return LineConverter(catalogue, keeps_revisions=self.keeps_revisions)

    def _user_row(self, converter: LineConverter, entry: Entry) -> UserRow:
        for number, line in self.file.lines(entry):
            with self.file.at_line(number):
                if isinstance(line, UserLine):
                    return converter.user_row(line)
                raise DataError("must be a user: the file was changed during the import")
        raise DataError(f"{self.file.path}: was cut off during the import")

    def _replace_user(self, batch: Batch, row: UserRow) -> None:
        if not self.replace:
            raise user_conflict(row.id)
        batch.forget_user(row.id)
        batch.ensure_users([row])

    def _add_history(
        self,
        batch: Batch,
        converter: LineConverter,
        experiment: Experiment,
        user: UserRow,
        entry: Entry,
    ) -> None:
        validity = _StateValidity()
        for number, line in self.file.lines(entry):
            with self.file.at_line(number):
                if not isinstance(line, (UserLine, HistoryLine)):
                    raise DataError("must be a user: the file was changed during the import")
                slates = [converter.slate_row(one, user.id) for one in line.lists]
                events = _event_rows(line, user.id)
                taken = sorted(batch.slate_owners([row.id for row in slates]))
                if taken:
                    raise ConflictError(f"list {taken[0]!r} exists, of another user")
            batch.add_slates(slates)
            batch.add_events(events)
            validity.add(line, slates, events)
        if validity.must_relearn(experiment, converter.catalogue, user):
            policy = experiment.new_policy(user.policy, converter.catalogue)
            state = replay_user(batch, user.id, policy).state()
            batch.save_users([user._replace(state=state.to_bytes())])


@dataclass(frozen=True, slots=True)
class ImportItems:
    """Import the items and priors of some entries of a file, all of them or none.

    Parameters
    ----------
    replace
        Whether to replace an item or a prior that exists and differs; else that is a
        ConflictError.
    restores
        The last revision and the first that is stored, to restore items with all of their changes
        into a store that has none; None to add and change items, each by its last line.
    """

    file: ImportFile
    entries: tuple[Entry, ...]
    replace: bool = False
    restores: tuple[int, int] | None = None
    alone: ClassVar[bool] = True
    long: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> CommandResult:
        """Store them, if every policy can make a list with them."""
        snapshot, stored = lock_catalogue(batch, executor)
        lines = [line for entry in self.entries for line in self.file.lines(entry)]
        items = [(number, line) for number, line in lines if isinstance(line, ItemLine)]
        if self.restores is None:
            self._merge(batch, snapshot, stored, items)
        elif items:
            self._restore(batch, snapshot.catalogue, stored, items)
        for number, line in lines:
            if isinstance(line, PriorLine):
                with self.file.at_line(number):
                    self._import_prior(batch, snapshot.catalogue, line)
        if self.restores is not None and int(batch.meta(ITEMS_REVISION) or 0) < self.restores[0]:
            batch.set_meta(ITEMS_REVISION, str(self.restores[0]))
        later = partial(executor.live.install, new_snapshot(batch, executor))
        return CommandResult({"items": len(self.entries)}, later)

    def _restore(
        self,
        batch: Batch,
        catalogue: Catalogue,
        stored: Mapping[str, ItemRow],
        lines: Sequence[tuple[int, ItemLine]],
    ) -> None:
        if stored:
            raise ConflictError("items were added or changed meanwhile: send the import again")
        changes = []
        for number, line in lines:
            with self.file.at_line(number):
                row = item_row(catalogue, line, line.row)
                changes.append(ItemChange(line.revision, row, line.time))
        _last, first = self.restores or (0, 0)
        batch.restore_items(changes, first)

    def _merge(
        self,
        batch: Batch,
        snapshot: CatalogueSnapshot,
        stored: Mapping[str, ItemRow],
        lines: Sequence[tuple[int, ItemLine]],
    ) -> None:
        size = len(snapshot.catalogue)
        for number, line in lines:
            row = snapshot.row_of(line.id)
            known = stored.get(line.id)
            with self.file.at_line(number):
                new = item_row(snapshot.catalogue, line, size if row is None else row)
                if known is not None and (known.retired, known.data) == (new.retired, new.data):
                    continue
                if known is not None and not self.replace:
                    raise ConflictError(f"item {line.id!r} exists with other data")
            if known is not None:
                batch.update_items([new])
            else:
                batch.add_items([new])
                size += row is None

    def _import_prior(self, batch: Batch, catalogue: Catalogue, line: PriorLine) -> None:
        data = prior_bytes(catalogue, line)
        known = batch.priors().get(line.policy, PriorRow(line.policy))
        new = known._replace(data=data, users=line.users, fitted=line.fitted)
        if new == known:
            return
        if known.data is not None and not self.replace:
            raise ConflictError(f"policy {line.policy!r} has another fitted prior")
        batch.save_prior(new)


def item_row(catalogue: Catalogue, line: ItemLine, row: int) -> ItemRow:
    """Return the row of an item, or raise InputError or DataError."""
    if line.data is None:
        if row >= len(catalogue):
            raise DataError(f"`data` must be given for {line.id!r}, which is a new item")
        return ItemRow(row, line.id, line.retired, None)
    if row >= len(catalogue):
        check_new_id(line.id)
    data = validate_item(catalogue, line.data.model_dump(exclude_unset=True))
    return ItemRow(row, line.id, line.retired, data)


def prior_bytes(catalogue: Catalogue, line: PriorLine) -> bytes:
    """Return the bytes of a prior, or raise InputError or DataError."""
    data = decode_base64("data", line.data)
    Prior.from_bytes(data, where="`data`").check(catalogue)
    return data
