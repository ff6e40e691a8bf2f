"""Stores of a test's own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from variegate.store import Store


@pytest.fixture
def store(tmp_path: Path, empty_store_file: Path) -> Iterator[Store]:
    """Return an empty store in a file."""
    shutil.copy(empty_store_file, tmp_path / "store.db")
    with Store.open(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Return the address of a file that is not there yet."""
    return f"sqlite:///{tmp_path}/service.db"
