"""Clients of the service: a blocking one, and one for asyncio.

They need nothing else of this package. Responses are the models of `variegate.schemas`; errors are
those of `variegate.errors`.
"""

from variegate.client.async_client import AsyncClient
from variegate.client.client import Client
from variegate.schemas import (
    AtLeast,
    CatalogueInfo,
    Constraints,
    Difference,
    Diversity,
    EventResult,
    Explanation,
    FailedSlate,
    FeedbackResult,
    Interval,
    Item,
    ItemDetails,
    Learnt,
    PastItem,
    PastSlate,
    PolicyReport,
    Prior,
    PriorWeight,
    Relaxed,
    Report,
    ShownItem,
    Slate,
    TotalDiversity,
    User,
    WeightEstimate,
    Words,
)

__all__ = [
    "AsyncClient",
    "AtLeast",
    "CatalogueInfo",
    "Client",
    "Constraints",
    "Difference",
    "Diversity",
    "EventResult",
    "Explanation",
    "FailedSlate",
    "FeedbackResult",
    "Interval",
    "Item",
    "ItemDetails",
    "Learnt",
    "PastItem",
    "PastSlate",
    "PolicyReport",
    "Prior",
    "PriorWeight",
    "Relaxed",
    "Report",
    "ShownItem",
    "Slate",
    "TotalDiversity",
    "User",
    "WeightEstimate",
    "Words",
]
