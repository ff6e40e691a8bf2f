"""The lines of an import before its users: the header, items and priors."""

from collections.abc import Sequence

from variegate.engine.catalogue import CatalogueSnapshot, LiveCatalogue
from variegate.engine.import_file import Entry, RawLine
from variegate.engine.importing import Target, item_row, prior_data
from variegate.engine.lines import ExportLine, ItemLine, PriorLine
from variegate.engine.moving import digest_of, item_history
from variegate.errors import DataError
from variegate.model.fingerprint import Fingerprint
from variegate.store import ItemChange, Store


class ItemCheck:
    """Checks these lines, and finds how the items can be taken in.

    A list says which revision of the items it was chosen from. Into a store without changes of
    items, all changes are restored under their revisions, so that this stays true; so it does
    where the store has the same changes already. Into any other store items are merged, and lists
    are imported without a revision.
    """

    def __init__(self, store: Store, live: LiveCatalogue, snapshot: CatalogueSnapshot) -> None:
        self._store, self._live, self._snapshot = store, live, snapshot
        self._header: ExportLine | None = None
        self._changes: list[ItemChange] = []
        self._entries: list[Entry] = []
        self.priors: list[Entry] = []
        self._is_same = self._is_restored = False

    @property
    def count(self) -> int:
        """The items and priors so far."""
        return len(self._entries) + len(self.priors)

    @property
    def keeps_revisions(self) -> bool:
        """Whether revisions mean the same here, once items are taken in."""
        return self._is_same or self._is_restored

    def add(self, at: RawLine, line: ExportLine | ItemLine | PriorLine) -> None:
        """Take in the next line, or raise DataError or InputError."""
        entry = Entry("", at.number, at.start, at.end)
        if isinstance(line, ExportLine):
            if self._header is not None or self.count:
                raise DataError("`kind`: export must be the first line")
            self._header = line
            self._check_catalogue(line)
        elif isinstance(line, PriorLine):
            prior_data(self._snapshot.catalogue, line)
            self.priors.append(entry._replace(name=line.policy))
        else:
            self._add_item(entry._replace(name=line.id), line)

    def target(self) -> Target:
        """Return what users must fit; no line of an item may come after this."""
        self._compare()
        catalogue = self._snapshot.catalogue
        ids = {change.item.id for change in self._changes}
        coming = {item for item in ids if self._snapshot.row_of(item) is None}
        return Target(catalogue, coming, keeps_revisions=self.keeps_revisions)

    def entries(self) -> Sequence[Entry]:
        """Return the lines of items that are to be taken in: all changes, or the last of each."""
        self._compare()
        if self._is_same:
            return []
        last = {entry.name: entry for entry in self._entries}
        return self._entries if self._is_restored else list(last.values())

    def restores(self) -> tuple[int, int] | None:
        """Return the last revision and the first that is kept, where both are restored."""
        if self._header is None or not self.keeps_revisions:
            return None
        is_behind = int(self._snapshot.revision) < self._header.items.revision
        if not (is_behind or self.priors or self._is_restored):
            return None
        return self._header.items.revision, self._header.items.first

    def _add_item(self, entry: Entry, line: ItemLine) -> None:
        row = self._snapshot.row_of(line.id)
        size = len(self._snapshot.catalogue)
        item = item_row(self._snapshot.catalogue, line, size if row is None else row)
        change = ItemChange(line.revision, item._replace(row=line.row), line.time)
        if self._changes and (change.revision, line.row) <= (
            self._changes[-1].revision,
            self._changes[-1].item.row,
        ):
            raise DataError("`revision` and `row` must grow from line to line")
        self._changes.append(change)
        self._entries.append(entry)

    def _compare(self) -> None:
        """Find out whether the store has the same changes, or none, so that all are restored."""
        if self._header is None:
            return
        theirs = self._header.items
        with self._store.reading() as reader:
            ours = item_history(reader, theirs.revision)
            has_changes = bool(reader.item_revisions())
        self._is_same = ours == theirs.model_dump()
        self._is_restored = (
            not self._is_same
            and not has_changes
            and bool(self._changes)
            and digest_of(self._changes) == theirs.digest
            and self._rows_fit()
        )

    def _rows_fit(self) -> bool:
        """Return whether items have, or will have, the rows that they had there."""
        ids, size = self._live.base.ids, len(self._live.base)
        rows = {change.item.row: change.item.id for change in self._changes}
        new = sorted(row for row in rows if row >= size)
        is_whole = new == list(range(size, size + len(new)))
        return is_whole and all(ids[row] == item for row, item in rows.items() if row < size)

    def _check_catalogue(self, line: ExportLine) -> None:
        base = self._live.base
        try:
            theirs = Fingerprint.from_json(line.catalogue)
            # A larger file that begins with the same items will do.
            found = theirs.differences(base.fingerprint_of_first(min(theirs.items, len(base))))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise DataError("`catalogue` must be a fingerprint as an export has it") from None
        if found:
            raise DataError(f"`catalogue` must be that of {base}: {'; '.join(found)}")
