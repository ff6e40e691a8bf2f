"""A store of a test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from variegate.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a new store in a file."""
    with Store.open(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened
