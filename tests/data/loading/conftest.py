"""The tiny files of tests/data, and the real archives where they are."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.paths import FIXTURES, SHARED


@pytest.fixture
def tiny() -> Path:
    """Return the folder of files that have a few made-up lines each."""
    return FIXTURES


@pytest.fixture
def archive() -> Callable[[str], Path]:
    """Return a function that gives the path of a real archive, or skips."""

    def path_of(name: str) -> Path:
        folder = Path(os.environ.get("VARIEGATE_DATA") or SHARED)
        if not (folder / name).is_file():
            pytest.skip(f"{name} is not in {folder}: set VARIEGATE_DATA to where it is")
        return folder / name

    return path_of
