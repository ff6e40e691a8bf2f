"""Stores of a test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from variegate.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a new store in a file."""
    with Store.open(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Return the address of a file that is not there yet."""
    return f"sqlite:///{tmp_path}/service.db"
