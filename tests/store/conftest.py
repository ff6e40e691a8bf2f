"""Tests that take `url` or `store` run on SQLite and on PostgreSQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from variegate.store import Store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'store.db'}?durability=normal"


@pytest.fixture
def store(url: str, tmp_path: Path, empty_store_file: Path) -> Iterator[Store]:
    if url.startswith("sqlite"):
        shutil.copy(empty_store_file, tmp_path / "store.db")
    with Store.open(url) as opened:
        yield opened


@pytest.fixture
def empty_store(url: str) -> Iterator[Store]:
    """Return a store at a new or an emptied database."""
    with Store.open(url) as opened:
        yield opened
