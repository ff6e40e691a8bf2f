"""Convert the lines of an export to the rows of a store, and check them against each other."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import numpy as np

from variegate.engine.codecs import (
    INTERACTION,
    SeenItems,
    interaction_features,
    interaction_slate,
    pack_slate,
    unpack_slate,
)
from variegate.engine.experiment import Experiment
from variegate.engine.export_schema import (
    ArrayLine,
    Entry,
    EventLine,
    HistoryLine,
    ImportFile,
    InteractionLine,
    ItemLine,
    Line,
    PriorLine,
    SlateLine,
    StateLine,
    UserLine,
    decode_base64,
)
from variegate.engine.item_data import check_new_id, validate_item
from variegate.engine.replay import iter_events, iter_slates
from variegate.engine.terms import Terms
from variegate.errors import DataError, NotFoundError, StateError
from variegate.model.catalogue import Catalogue
from variegate.model.slate import Slate
from variegate.policies import Dial, State
from variegate.prior import PriorFile
from variegate.store import EventRow, ItemRow, Reader, SlateRow, UserRow

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
        return UserRow(
            id=line.user,
            policy=line.policy,
            state=None if line.state is None else _parse_state(line.state).to_bytes(),
            shown=self._seen_items("shown", line.shown),
            slates=line.slates,
            version=0,
            created=line.created,
            changed=line.changed,
            consumed=self._seen_items("consumed", line.consumed) or None,
        )

    def _seen_items(self, field: str, entries: Sequence[tuple[str, int]]) -> bytes:
        items = [item for item, _second in entries]
        if len(set(items)) != len(items):
            raise DataError(f"`{field}` must have each item once")
        rows = self._rows(field, items)
        seconds = [second for _item, second in entries]
        return SeenItems.from_entries(list(zip(rows, seconds, strict=True))).to_bytes()

    def event_row(self, line: EventLine, user: str) -> EventRow:
        """Return the row of an event, with the items of an interaction by their rows here."""
        body = line.body.model_dump()
        if not isinstance(line, InteractionLine):
            return EventRow(None, line.time, user, line.slate, line.kind, body)
        decode_base64("features", line.body.features)
        row = EventRow(None, line.time, user, None, line.kind, body, line.request)
        slate, ids = interaction_slate(row), tuple(line.body.rewards)
        self._check_features("an interaction", slate, len(ids))
        if slate.diversity.any():
            raise DataError("`features` of an interaction must have no diversity gains")
        items = np.array(self._rows("rewards", ids), dtype=np.intp)
        body["features"] = interaction_features(replace(slate, items=items))
        if not self.keeps_revisions:
            body["revision"] = None
        return row._replace(body=body)

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
        self._check_features(f"list {line.id!r}", slate, line.k)
        self._check_terms(Terms.from_dict(line.terms))
        if self.catalogue.is_open:
            return row  # its items were those of its request, and have no rows here
        items = np.array(self._rows("items", line.items), dtype=np.intp)
        return row._replace(features=pack_slate(replace(slate, items=items)))

    def _check_features(self, name: str, slate: Slate, k: int) -> None:
        shapes = slate.relevance.shape, slate.diversity.shape
        parts = slate.relevance, slate.diversity, slate.coverage, slate.scores / _MAX_SCORE
        fits = shapes == ((k, self.catalogue.d), (k, self.catalogue.m))
        if not fits or not all((np.abs(part) <= self._largest).all() for part in parts):
            raise DataError(
                f"`features` of {name} must be those of {self.catalogue}, none above "
                f"{self._largest:g}"
            )

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

    def event_as_imported(self, row: EventRow | None) -> EventRow | None:
        """Return a stored event as an import would store it, without its number."""
        if row is None or row.kind != INTERACTION or self.keeps_revisions:
            return row and row._replace(seq=None)
        return row._replace(seq=None, body=row.body | {"revision": None})

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


class UserLines:
    """The lines of one user, which are read once: their rows, checked against each other.

    Parameters
    ----------
    lines
        The line of the user, then those that continue the history.
    """

    def __init__(
        self, file: ImportFile, converter: LineConverter, lines: Iterable[tuple[Entry, Line]]
    ) -> None:
        self._file, self._converter, self.catalogue = file, converter, converter.catalogue
        rest = iter(lines)
        first = next(rest, None)
        if first is None:
            raise DataError(f"{file.path}: was cut off during the import")
        self._lines = chain([first], rest)
        at, line = first
        with file.at_line(at.number):
            if not isinstance(line, UserLine):
                raise _no_user(line)
            self.row = converter.user_row(line)
            #: What the removed part of the history taught, or None
            self.checkpoint = (
                None if line.checkpoint is None else _parse_state(line.checkpoint).to_bytes()
            )
        #: The place of the lines in the file, as far as they were read
        self.entry = at._replace(name=line.user)
        #: Positions that a list marks as taught, and that no event so far did teach
        self._untaught: dict[str, set[int]] = {}
        self._slates: set[str] = set()
        self._requests: set[str] = set()
        self._interactions: set[str] = set()
        self._has_moved = self._has_learnt = False

    def rows(self) -> Iterator[tuple[list[SlateRow], list[EventRow]]]:
        """Yield the lists and events of each line, or raise DataError."""
        user, has_more = self.row.id, True
        for at, line in self._lines:
            with self._file.at_line(at.number):
                if isinstance(line, UserLine) and at.number > self.entry.number:
                    raise DataError(f"user {user!r} is in line {self.entry.number} too")
                if not has_more or not isinstance(line, UserLine | HistoryLine):
                    raise _no_user(line)
                slates = [self._converter.slate_row(one, user) for one in line.lists]
                events = [self._converter.event_row(one, user) for one in line.events]
                self._check_history(line)
            self._has_moved = self._has_moved or _have_moved(line, slates, events)
            self.entry, has_more = self.entry._replace(end=at.end), line.more
            yield slates, events
        with self._file.at_line(self.entry.number):
            self._check_end(has_more)

    def must_relearn(self, experiment: Experiment) -> bool:
        """Return whether the state must be relearnt from the events, once all rows were read.

        A state may be stored by rows, and the items may have other rows here.
        """
        if self.row.policy not in experiment.specs:
            return False
        if self._has_moved and self.checkpoint is not None:
            policy = experiment.new_policy(self.row.policy, self.catalogue)
            if policy.learns_items:
                raise DataError(
                    f"`checkpoint` of user {self.row.id!r} is of a policy that learns items by "
                    "their rows: import it into a store with the items in the same order"
                )
        try:
            experiment.policy_of(self.row, self.catalogue)
        except StateError:
            return True
        return self._has_moved or (self.row.state is None and self._has_learnt)

    def is_stored(self, reader: Reader, experiment: Experiment, stored: UserRow) -> bool:
        """Return whether the user is in the store exactly as in the lines."""
        if reader.checkpoint_state(stored.id) != self.checkpoint:
            return False
        slates, events = iter_slates(reader, stored.id), iter_events(reader, stored.id)
        for new_slates, new_events in self.rows():
            if any(self._converter.as_imported(next(slates, None)) != row for row in new_slates):
                return False
            if any(
                self._converter.event_as_imported(next(events, None)) != event
                for event in new_events
            ):
                return False
        if next(slates, None) is not None or next(events, None) is not None:
            return False
        # A state that was relearnt from the events, which are the same, is another.
        state = stored.state if self.must_relearn(experiment) else self.row.state
        return self.row._replace(version=stored.version, state=state) == stored

    def _check_history(self, line: UserLine | HistoryLine) -> None:
        for one in line.lists:
            if one.id in self._slates:
                raise DataError(f"`lists` must have each list once, got {one.id!r} twice")
            self._slates.add(one.id)
            if one.request is not None and one.request in self._requests:
                raise DataError(f"`request` must be distinct, got {one.request!r} twice")
            self._requests.add(one.request or "")
            if any(one.taught):
                self._untaught[one.id] = set(np.flatnonzero(one.taught).tolist())
        for event in line.events:
            self._check_event(event)

    def _check_event(self, event: EventLine) -> None:
        if isinstance(event, InteractionLine):
            self._check_interaction(event)
            return
        if event.slate not in self._slates:
            raise DataError(f"`events` must be about lists above, got {event.slate!r}")
        if event.kind != "withdraw" and event.body.taught:
            self._teach(event.slate, set(map(int, event.body.taught)))

    def _check_interaction(self, line: InteractionLine) -> None:
        if line.request is not None:
            if line.request in self._interactions:
                raise DataError(
                    f"`request` of interactions must be distinct, got {line.request!r} twice"
                )
            self._interactions.add(line.request)
        self._has_learnt = True

    def _teach(self, slate: str, positions: set[int]) -> None:
        left = self._untaught.get(slate, set())
        if not positions <= left:
            raise DataError(
                f"`events` must teach each position of list {slate!r} once, and only those in its "
                "`taught`"
            )
        left -= positions
        if not left:
            del self._untaught[slate]
        self._has_learnt = True

    def _check_end(self, has_more: bool) -> None:
        if has_more:
            raise DataError(
                f"user {self.row.id!r} must continue in another line, by `more`: the file was cut "
                "off or changed"
            )
        for slate in self._untaught:
            raise DataError(f"`taught` of list {slate!r} must match what `events` taught")


def _no_user(line: Line) -> DataError:
    return DataError(f"`kind`: {line.kind} must follow the line of its user")


def _have_moved(
    line: UserLine | HistoryLine, slates: Sequence[SlateRow], events: Sequence[EventRow]
) -> bool:
    """Return whether an item has another row here than in the export."""
    return any(
        decode_base64("features", old.features) != new.features
        for old, new in zip(line.lists, slates, strict=True)
    ) or any(
        isinstance(old, InteractionLine) and old.body.features != new.body["features"]
        for old, new in zip(line.events, events, strict=True)
    )


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
    PriorFile.from_bytes(data, where="`data`").check(catalogue)
    return data
