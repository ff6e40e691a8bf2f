"""Waits for what other threads and processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

#: Seconds after which what should happen will not happen, on a busy machine either
PATIENCE = 120.0


def until(found: Callable[[], Value]) -> Value:
    """Return what is found, once it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < deadline, f"nothing within {PATIENCE:g} seconds"
        time.sleep(0.01)
    return value
