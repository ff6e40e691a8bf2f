"""Clients of the service: a blocking one, and one for asyncio.

They need nothing else of this package. Responses are the models of `variegate.schemas`; errors are
those of `variegate.errors`.
"""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.client.async_client import AsyncClient as AsyncClient
    from variegate.client.client import Client as Client
    from variegate.schemas import AtLeast as AtLeast
    from variegate.schemas import CatalogueInfo as CatalogueInfo
    from variegate.schemas import Constraints as Constraints
    from variegate.schemas import Difference as Difference
    from variegate.schemas import Diversity as Diversity
    from variegate.schemas import EventResult as EventResult
    from variegate.schemas import Explanation as Explanation
    from variegate.schemas import FailedSlate as FailedSlate
    from variegate.schemas import FeedbackResult as FeedbackResult
    from variegate.schemas import Interval as Interval
    from variegate.schemas import Item as Item
    from variegate.schemas import ItemDetails as ItemDetails
    from variegate.schemas import ItemsProgress as ItemsProgress
    from variegate.schemas import Learnt as Learnt
    from variegate.schemas import PastItem as PastItem
    from variegate.schemas import PastSlate as PastSlate
    from variegate.schemas import PolicyReport as PolicyReport
    from variegate.schemas import Prior as Prior
    from variegate.schemas import PriorWeight as PriorWeight
    from variegate.schemas import RejectedItem as RejectedItem
    from variegate.schemas import Relaxed as Relaxed
    from variegate.schemas import Report as Report
    from variegate.schemas import ShownItem as ShownItem
    from variegate.schemas import Slate as Slate
    from variegate.schemas import TotalDiversity as TotalDiversity
    from variegate.schemas import User as User
    from variegate.schemas import WeightEstimate as WeightEstimate
    from variegate.schemas import Words as Words

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
