"""Costs of round numbers, so that plans can be computed by hand."""

from typing import Any

from variegate.capacity import Costs


def costs(**changes: Any) -> Costs:
    """Return costs of 10 ms per request, one request per transaction."""
    values: dict[str, Any] = {
        "machine": "by hand",
        "catalogue": 1000,
        "batch_cpu": 0.001,
        "request_cpu": 0.002,
        "batch_database_cpu": 0.003,
        "request_database_cpu": 0.004,
        "item_cpu": 0.0,
        "lone_seconds": (0.01,),
        "request_seconds": 0.0,
        "gather_seconds": 0.0,
        "max_batch": 1,
        "user_bytes": 1000.0,
        "list_bytes": 100.0,
        "feedback_bytes": 50.0,
        "wal_bytes": 1000.0,
        "worker_bytes": 1e8,
        "item_bytes": 100.0,
    }
    return Costs(**{**values, **changes})
