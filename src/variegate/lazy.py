"""Packages whose names are imported on first use, so that importing them takes no time."""

import ast
import sys
from collections.abc import Callable
from pathlib import Path


def lazy_names(
    package: str, file: str, *more: str
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    The names are those that its source imports ``if TYPE_CHECKING``, so that there is one list of
    them, for type checkers and for Python. `more` are names that the package defines itself.
    """
    modules = {
        alias.name: str(statement.module)
        for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    names = sorted([*modules, *more])

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(__import__(modules[name], fromlist=[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    return names, get, lambda: names
