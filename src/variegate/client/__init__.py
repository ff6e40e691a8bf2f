"""The service from Python: a client that waits, and one for asyncio.

They need nothing else of this package: what the service answers comes as frozen dataclasses
(`variegate.client.answers`), what it refuses as the package's errors.
"""

from variegate.client.answers import (
    Belief,
    CatalogueFacts,
    Difference,
    Explanation,
    Feedback,
    Interval,
    Item,
    Learnt,
    PastItem,
    PastSlate,
    PolicyReport,
    Report,
    ShownItem,
    Slate,
    User,
    WholeItem,
    Words,
)
from variegate.client.async_client import AsyncClient
from variegate.client.client import Client
from variegate.client.routes import Diversity

__all__ = [
    "AsyncClient",
    "Belief",
    "CatalogueFacts",
    "Client",
    "Difference",
    "Diversity",
    "Explanation",
    "Feedback",
    "Interval",
    "Item",
    "Learnt",
    "PastItem",
    "PastSlate",
    "PolicyReport",
    "Report",
    "ShownItem",
    "Slate",
    "User",
    "WholeItem",
    "Words",
]
