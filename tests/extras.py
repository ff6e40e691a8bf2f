"""Optional libraries: tests that need one are skipped without importing it during collection."""

from importlib.util import find_spec

import pytest


def needs(library: str) -> pytest.MarkDecorator:
    """Return the mark of tests that are skipped where `library` is not installed."""
    return pytest.mark.skipif(find_spec(library) is None, reason=f"{library} is not installed")
