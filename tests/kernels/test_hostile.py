"""No array ends the process: every compiled loop that Python calls is fuzzed in its own."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import variegate
from tests.kernels.hostile import ENTRIES
from tests.paths import ROOT

SOURCE = Path(variegate.__file__).parent
LOOPS = "variegate.kernels.loops"


def entries() -> Iterator[str]:
    """Give each compiled function that Python calls, as module.function."""
    for file in SOURCE.rglob("*.py"):
        if SOURCE / "kernels" / "loops" not in file.parents:
            yield from called(ast.parse(file.read_text()))


def called(tree: ast.Module) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    modules = {a.asname or a.name: a.name for i in imports if i.module == LOOPS for a in i.names}
    for one in imports:
        module = one.module or ""
        if module.startswith(f"{LOOPS}."):
            yield from (f"{module.rsplit('.')[-1]}.{alias.name}" for alias in one.names)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Call):
            name = node.value.id if isinstance(node.value, ast.Name) else ""
            if isinstance(node.value, ast.Call) and ast.unparse(node.value) == "_loops()":
                name = next(iter(modules))  # the one module that such a function returns
            if name in modules:
                yield f"{modules[name]}.{node.attr}"


def test_every_compiled_loop_that_python_calls_is_fuzzed() -> None:
    assert sorted(set(entries())) == sorted(ENTRIES)


def test_no_array_ends_the_process() -> None:
    """`make fuzz` runs more examples, with every index checked."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.hostile", "12"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        text=True,
        timeout=1800,  # on a busy machine compiling takes minutes
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
