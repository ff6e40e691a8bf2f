"""Notebooks: `python -m tools.site.notebooks FILE ...` runs them and stores what they print."""

import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEAD = "[Download this notebook]({name}), or read on: it was run as it stands.\n"


def run_notebook(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Run the code cells of a notebook in order; yield each with what it prints."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in _cells(path):
        if cell["cell_type"] == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                code = compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec")
                exec(code, namespace)  # noqa: S102 - a file of this repository
            yield cell, printed.getvalue()


def stored_output(cell: dict[str, Any]) -> str:
    """Return what a code cell printed when it was stored."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


def notebook_page(path: Path) -> str:
    """Return a notebook as Markdown, with what its cells printed."""
    parts = []
    for cell in _cells(path):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        if printed := stored_output(cell).rstrip():
            parts.append(f"```text\n{printed}\n```")
    title, _, about = parts[0].partition("\n\n")
    head = [title, _HEAD.format(name=path.name), about]
    return "\n\n".join([*head, *parts[1:]]) + "\n"


def store_outputs(path: Path) -> None:
    """Run a notebook, and write what it prints into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = {cell["id"]: cell for cell in notebook["cells"]}
    for number, (cell, text) in enumerate(run_notebook(path), start=1):
        lines = text.splitlines(keepends=True)
        stream = {"name": "stdout", "output_type": "stream", "text": lines}
        cells[cell["id"]]["outputs"] = [stream] if lines else []
        cells[cell["id"]]["execution_count"] = number
    text = json.dumps(notebook, ensure_ascii=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _cells(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


if __name__ == "__main__":
    for name in sys.argv[1:]:
        store_outputs(Path(name))
