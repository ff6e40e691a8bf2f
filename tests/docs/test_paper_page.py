"""The page on the paper: complete, and every name and path in it is there."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.docs.documents import DOCS, DOCUMENTS, name_of, rows, spans
from tests.paths import ROOT

PAPER = DOCS / "explanation" / "paper.md"
NAMES = sorted(
    {span for span in spans(PAPER) if re.fullmatch(r"(variegate|experiments)(\.\w+)+", span)}
)
FILE = re.compile(r"((?:src|tests|docs|benchmarks|experiments)/[\w./-]+\.\w+)(?:::(\w+))?")
FILES = sorted({span for span in spans(PAPER) if FILE.fullmatch(span)})


def numbered(cell: str) -> list[int]:
    """Return the numbers that a cell like "15, 16, 17" or "24 to 29" stands for."""
    ends = [int(number) for number in re.findall(r"\d+", cell)]
    return list(range(ends[0], ends[-1] + 1)) if " to " in cell else ends


@pytest.mark.parametrize("name", NAMES)
def test_names_can_be_imported(name: str) -> None:
    assert resolve_name(name) is not None


@pytest.mark.parametrize("span", FILES)
def test_files_and_tests_are_there(span: str) -> None:
    file, _, test = span.partition("::")
    source = (ROOT / file).read_text(encoding="utf-8")
    assert not test or re.search(rf"^\s*def {test}\(", source, re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_source_files_named_in_documents_are_there(path: Path) -> None:
    named = [found[1] for span in spans(path) if (found := FILE.fullmatch(span))]
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_every_equation_has_a_row() -> None:
    numbers = [number for row in rows(PAPER, "Equations") for number in numbered(row[0])]
    assert numbers == list(range(1, 34))


def test_every_erratum_and_open_point_has_a_row() -> None:
    assert [row[0] for row in rows(PAPER, "Errata")] == [f"E{number}" for number in range(1, 23)]
    points = [row[0] for row in rows(PAPER, "What the paper leaves open")]
    assert points == [f"A{number}" for number in range(1, 16)]


@pytest.mark.parametrize(
    "heading",
    ["Equations", "Algorithms", "Theorems and lemmas", "Experiments, tables and figures"],
)
def test_every_row_says_where(heading: str) -> None:
    where = [row[-1] for row in rows(PAPER, heading)]
    silent = [
        cell
        for cell in where
        if not re.search(r"`(variegate|experiments|tests)\b|not yet|no code", cell)
    ]
    assert where
    assert silent == []
