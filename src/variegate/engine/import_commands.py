"""Commands that import lines of an export: users, each in one transaction, items and priors.

Importing a line again changes nothing, so an import that stopped midway is completed by sending
it again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from variegate.engine.catalogue import CatalogueSnapshot
from variegate.engine.experiment import Experiment
from variegate.engine.export_schema import Entry, ImportFile, ItemLine, KeyLine, PriorLine
from variegate.engine.import_rows import LineConverter, UserLines, item_row, prior_bytes
from variegate.engine.items import lock_catalogue, new_snapshot
from variegate.engine.queue import CommandResult
from variegate.engine.replay import replay_user
from variegate.errors import ConflictError
from variegate.model.catalogue import Catalogue
from variegate.store import (
    ITEMS_REVISION,
    Batch,
    ItemChange,
    ItemRow,
    KeyRow,
    PriorRow,
    UserRow,
    new_version,
)


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
    keeps_revisions
        See `LineConverter`.
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
        rows = {
            entry.name: self._read(converter, entry).row._replace(version=new_version())
            for entry in self.entries
        }
        # New users first, as in every batch: else two batches could wait for each other.
        new = rows.keys() - batch.existing(rows)[0]
        batch.ensure_users([rows[name] for name in new])
        locked = batch.lock_users(rows)
        # With users locked, no other transaction can show them an item that is not known here.
        converter = self._converter(batch, executor)
        changed = 0
        for entry in sorted(self.entries):
            row, stored = rows[entry.name], locked.get(entry.name)
            if stored is not None and not (entry.name in new and stored == row):
                if self._read(converter, entry).is_stored(batch, experiment, stored):
                    continue
                with self.file.at_line(entry.number):
                    self._replace_user(batch, row)
            self._add_history(batch, experiment, self._read(converter, entry), row.version)
            changed += 1
        # A cached policy of a user who was replaced has another state: it is not used.
        return CommandResult({"users": len(rows), "changed": changed})

    def _converter(self, batch: Batch, executor: Any) -> LineConverter:
        catalogue = executor.live.as_of(batch).catalogue
        return LineConverter(catalogue, keeps_revisions=self.keeps_revisions)

    def _read(self, converter: LineConverter, entry: Entry) -> UserLines:
        return UserLines(self.file, converter, self.file.lines(entry))

    def _replace_user(self, batch: Batch, row: UserRow) -> None:
        if not self.replace:
            raise user_conflict(row.id)
        batch.forget_user(row.id)
        batch.ensure_users([row])

    def _add_history(
        self, batch: Batch, experiment: Experiment, user: UserLines, version: int
    ) -> None:
        if user.checkpoint is not None:
            batch.add_checkpoint(user.row.id, user.checkpoint)
        for slates, events in user.rows():
            taken = sorted(batch.existing(slates=[row.id for row in slates])[1])
            if taken:
                with self.file.at_line(user.entry.number):
                    raise ConflictError(f"list {taken[0]!r} exists, of another user")
            batch.add_slates(slates)
            batch.add_events(events)
        if user.must_relearn(experiment):
            policy = experiment.new_policy(user.row.policy, user.catalogue)
            state = replay_user(batch, user.row.id, policy).state()
            batch.save_users([user.row._replace(state=state.to_bytes(), version=version)])


@dataclass(frozen=True, slots=True)
class ImportItems:
    """Import the items, priors and keys of some entries of a file, all of them or none.

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
        items = [(at.number, line) for at, line in lines if isinstance(line, ItemLine)]
        if self.restores is None:
            self._merge(batch, snapshot, stored, items)
        elif items:
            self._restore(batch, snapshot.catalogue, stored, items)
        for at, line in lines:
            if isinstance(line, PriorLine):
                with self.file.at_line(at.number):
                    self._import_prior(batch, snapshot.catalogue, line)
            elif isinstance(line, KeyLine):
                with self.file.at_line(at.number):
                    _import_key(batch, line)
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


def _import_key(batch: Batch, line: KeyLine) -> None:
    """Add a key that does not exist; one that exists stays as it is, also if it was revoked."""
    rows = batch.keys()
    known = next((row for row in rows if row.id == line.id), None)
    if known is None:
        fields = line.model_dump(exclude={"variegate", "kind"})
        batch.add_key(KeyRow(**fields))
    elif known.hash != line.hash:
        raise ConflictError(f"key {line.id!r} exists with another secret")
