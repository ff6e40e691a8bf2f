"""The shape that keeps the package easy to change: small files, small functions, plain names."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

SOURCE = ROOT / "src" / "variegate"
EXPERIMENTS = ROOT / "experiments"
FILES = sorted([*SOURCE.rglob("*.py"), *EXPERIMENTS.rglob("*.py")])

#: Names that say nothing of what is inside.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"}
#: What `import variegate` must not wait for.
HEAVY = {
    "numpy",
    "scipy",
    "numba",
    "click",
    "rich",
    "matplotlib",
    "polars",
    "pandas",
    "sklearn",
    "fastapi",
}

each_file = pytest.mark.parametrize(
    "path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix()
)


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function, its decorators and docstring left out."""
    text = ast.get_docstring(function, clean=False)
    lines = (function.end_lineno or 0) - function.lineno + 1
    return lines - (text.count("\n") + 1 if text else 0)


def test_there_are_files_to_look_at() -> None:
    assert SOURCE / "policies" / "lmdh.py" in FILES


@each_file
def test_no_file_is_longer_than_500_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


@each_file
def test_no_function_is_longer_than_40_lines(path: Path) -> None:
    long = {function.name: length(function) for function in functions(path)}

    assert {name: lines for name, lines in long.items() if lines > 40} == {}


@each_file
def test_no_module_has_an_empty_name(path: Path) -> None:
    assert not EMPTY_NAMES & {path.stem, path.parent.name}


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, variegate; print(*sorted({name.split('.')[0] for name in sys.modules}))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "variegate" in loaded
    assert HEAVY & set(loaded) == set()
