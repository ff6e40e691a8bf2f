"""The shape that keeps the package easy to change: small files, small functions, plain names."""

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
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


def names(paths: Iterable[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


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


def test_no_file_is_longer_than_500_lines() -> None:
    assert names(path for path in FILES if len(path.read_text().splitlines()) > 500) == []


def test_no_function_is_longer_than_40_lines() -> None:
    long = [
        f"{name}: {function.name} has {length(function)} lines"
        for path, name in zip(FILES, names(FILES), strict=True)
        for function in functions(path)
        if length(function) > 40
    ]

    assert long == []


def test_no_module_has_an_empty_name() -> None:
    assert names(path for path in FILES if EMPTY_NAMES & {path.stem, path.parent.name}) == []


@pytest.mark.parametrize(("module", "needed"), [("variegate", set()), ("variegate.cli", {"click"})])
def test_importing_the_package_or_its_commands_loads_nothing_heavy(
    module: str, needed: set[str]
) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert "variegate" in loaded
    assert HEAVY & set(loaded) == needed
