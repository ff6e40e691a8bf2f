"""All that the service keeps, in SQLite or PostgreSQL.

The event log is the truth; users' states and what lists have earned are views of it that are kept
beside it. SQLAlchemy is loaded when a store is opened, not before.
"""

from variegate.store.batch import Batch
from variegate.store.reader import Reader
from variegate.store.rows import (
    CATALOGUE,
    CONFIGURATION,
    ITEMS_HISTORY,
    ITEMS_REVISION,
    KEYS_REVISION,
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
)
from variegate.store.store import Store
from variegate.store.summaries import Moments, PeriodSums, PolicySums, Recent

__all__ = [
    "CATALOGUE",
    "CONFIGURATION",
    "ITEMS_HISTORY",
    "ITEMS_REVISION",
    "KEYS_REVISION",
    "RELEARNING",
    "Batch",
    "EventRow",
    "Head",
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
    "UserRow",
]
