"""The service's data, in SQLite or PostgreSQL.

The event log is the source of truth; users' states, slates and running sums are derived from it and
stored beside it.
"""

from variegate.store.batch import Batch
from variegate.store.reader import History, Reader
from variegate.store.rows import (
    CATALOGUE,
    CONFIGURATION,
    FORGOTTEN,
    ITEMS_HISTORY,
    ITEMS_REVISION,
    ITEMS_VISIBLE,
    KEYS_REVISION,
    MAX_CHANGES,
    NOT_READ,
    RELEARNING,
    EventRow,
    Head,
    ItemChange,
    ItemRow,
    KeyRow,
    PriorRow,
    ReplicaRow,
    SlateRow,
    UserRow,
    new_version,
    pack_event,
    pack_slate,
)
from variegate.store.store import Store
from variegate.store.summaries import Moments, PeriodSums, PolicySums, Recent
from variegate.store.sums import SumsByPolicy

__all__ = [
    "CATALOGUE",
    "CONFIGURATION",
    "FORGOTTEN",
    "ITEMS_HISTORY",
    "ITEMS_REVISION",
    "ITEMS_VISIBLE",
    "KEYS_REVISION",
    "MAX_CHANGES",
    "NOT_READ",
    "RELEARNING",
    "Batch",
    "EventRow",
    "Head",
    "History",
    "ItemChange",
    "ItemRow",
    "KeyRow",
    "Moments",
    "PeriodSums",
    "PolicySums",
    "PriorRow",
    "Reader",
    "Recent",
    "ReplicaRow",
    "SlateRow",
    "Store",
    "SumsByPolicy",
    "UserRow",
    "new_version",
    "pack_event",
    "pack_slate",
]
