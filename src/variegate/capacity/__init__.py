"""Capacity planning: machines and storage for a number of users, from measured costs."""

from variegate.capacity.contention import shared_latency
from variegate.capacity.costs import Costs
from variegate.capacity.plan import Limits, Load, Plan, plan
from variegate.capacity.queueing import Latency, latency, saturation

__all__ = [
    "Costs",
    "Latency",
    "Limits",
    "Load",
    "Plan",
    "latency",
    "plan",
    "saturation",
    "shared_latency",
]
