"""Paths for tests: the repository, small fixtures, archives that may not be committed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures"
#: Archives of data sets, in a folder beside the repository
SHARED = ROOT.parent / "shared" / "data"
