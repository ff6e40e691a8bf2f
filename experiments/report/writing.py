"""Writes the report: its page, its figures, its numbers."""

import json
from pathlib import Path
from typing import Any, Final

from experiments.beyond import contents
from experiments.claims import judged
from experiments.figures import save_figures
from experiments.report import chapter
from experiments.report.markdown import PICTURE_FOLDER, write_markdown
from experiments.report.numbers import beyond_numbers, numbers_of
from experiments.report.page import page
from experiments.results import Results
from variegate.files import atomic_write

_HEADING: Final = "# The paper's experiments, run again"


def write_report(results: Results, out: Path) -> Path:
    """Write report.html, results.json and the figures into `out`; return the page's path.

    The page holds its figures and asks nothing of the network. Where only the chapter beyond the
    paper was measured, it is beyond.html and beyond.json, and a report that is there stays.
    """
    folder = out / "figures"
    beyond = save_figures(results, folder, pictures=contents.PICTURES)
    if not results.is_of_the_paper:
        _write(out / "beyond.json", _json(beyond_numbers(results)))
        _write(out / "beyond.html", chapter.chapter_page(results, beyond, folder))
        return out / "beyond.html"
    pictures = save_figures(results, folder)
    judgement = judged(results)
    _write(out / "results.json", _json(numbers_of(results, judgement)))
    html = chapter.chapter_html(results, beyond, folder)
    _write(out / "report.html", page(results, judgement, pictures, folder, beyond=html))
    return out / "report.html"


def write_docs(results: Results, docs: Path) -> list[Path]:
    """Write what was measured into a folder of documents; return the paths of the pages.

    They are reproduction.md for the paper's experiments and beyond-figures.md for what goes
    beyond them, with their pictures.
    """
    written = []
    if results.is_of_the_paper:
        save_figures(results, docs / PICTURE_FOLDER, ("png",))
        written.append(docs / "reproduction.md")
        _write(written[-1], f"{_HEADING}\n\n{_made(results)}{write_markdown(results)}")
    if results.beyond is not None:
        save_figures(results, docs / chapter.PICTURE_FOLDER, ("png",), contents.PICTURES)
        written.append(docs / "beyond-figures.md")
        text = chapter.chapter_markdown(results)
        _write(written[-1], f"# {contents.TITLE}: the numbers\n\n{_made(results)}{text}")
    return written


def _made(results: Results) -> str:
    command = results.facts.get("command")
    return f"Made by `{command}`.\n\n" if command else ""


def _json(numbers: dict[str, Any]) -> str:
    return json.dumps(numbers, indent=1, ensure_ascii=False) + "\n"


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())
