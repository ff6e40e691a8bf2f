"""Writes the report: its page, its figures, its numbers."""

import json
from pathlib import Path
from typing import Final

from variegate.evaluation.reproduction.claims import judged
from variegate.evaluation.reproduction.figures import save_figures
from variegate.evaluation.reproduction.report.markdown import PICTURE_FOLDER, write_markdown
from variegate.evaluation.reproduction.report.numbers import numbers_of
from variegate.evaluation.reproduction.report.page import page
from variegate.evaluation.reproduction.results import Results
from variegate.files import written_whole

_HEADING: Final = "# The paper's experiments, run again"


def write_report(results: Results, out: Path) -> Path:
    """Write report.html, results.json and the figures into `out`; return the page's path.

    The page holds its figures and asks nothing of the network.
    """
    folder = out / "figures"
    pictures = save_figures(results, folder)
    judgement = judged(results)
    numbers = json.dumps(numbers_of(results, judgement), indent=1, ensure_ascii=False)
    _write(out / "results.json", numbers + "\n")
    _write(out / "report.html", page(results, judgement, pictures, folder))
    return out / "report.html"


def write_docs(results: Results, docs: Path) -> Path:
    """Write reproduction.md and its pictures into a folder of documents; return the page's path."""
    save_figures(results, docs / PICTURE_FOLDER, ("png",))
    command = results.facts.get("command")
    made = f"Made by `{command}`.\n\n" if command else ""
    target = docs / "reproduction.md"
    _write(target, f"{_HEADING}\n\n{made}{write_markdown(results)}")
    return target


def _write(path: Path, text: str) -> None:
    with written_whole(path) as file:
        file.write(text.encode())
