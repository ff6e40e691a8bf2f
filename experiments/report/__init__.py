"""The report: a page, its figures, and its numbers as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

from experiments.claims import judge
from experiments.figures import BEYOND_FIGURES, FIGURES, ReportFigure, save_figures
from experiments.report.html import render_page
from experiments.report.markdown import (
    BEYOND_FIGURE_FOLDER,
    BEYOND_TITLE,
    FIGURE_FOLDER,
    TITLE,
    beyond_markdown,
    paper_markdown,
)
from experiments.report.numbers import beyond_numbers, paper_numbers
from experiments.results import Results
from variegate.files import atomic_write

__all__ = ["write_docs", "write_report"]


def write_report(results: Results, out: Path) -> Path:
    """Write report.html, results.json and the figures into `out`; return the page's path.

    The page holds its figures and needs no network. If only the experiments beyond the paper were
    measured, it is beyond.html and beyond.json, and an existing report is left alone.
    """
    figures = out / "figures"
    save_figures(results, figures, BEYOND_FIGURES)
    if not results.has_paper:
        text = f"# {BEYOND_TITLE}\n\n{beyond_markdown(results)}"
        return _write_pages(out, "beyond", "beyond", beyond_numbers(results), text)
    save_figures(results, figures, FIGURES)
    judgement = judge(results)
    text = f"# {TITLE}\n\n{paper_markdown(results, judgement)}"
    if results.beyond.is_measured:
        text += f"\n# {BEYOND_TITLE}\n\n{beyond_markdown(results, settings=False)}"
    return _write_pages(out, "report", "results", paper_numbers(results, judgement), text)


def write_docs(results: Results, docs: Path, *, figures: Path) -> list[Path]:
    """Write the pages and their figures into a folder of documents; return the pages' paths.

    They are reproduction.md for the paper's experiments and beyond-figures.md for those beyond.
    The figures are copied from the report's folder of them.
    """
    command = results.facts.get("command")
    made = f"Made by `{command}`.\n\n" if command else ""
    written = {}
    if results.has_paper:
        _copy_figures(results, FIGURES, figures, docs / FIGURE_FOLDER)
        written[docs / "reproduction.md"] = f"# {TITLE}\n\n{made}{paper_markdown(results)}"
    if results.beyond.is_measured:
        _copy_figures(results, BEYOND_FIGURES, figures, docs / BEYOND_FIGURE_FOLDER)
        heading = f"# {BEYOND_TITLE}: the numbers"
        written[docs / "beyond-figures.md"] = f"{heading}\n\n{made}{beyond_markdown(results)}"
    for path, text in written.items():
        _write(path, text)
    return list(written)


def _copy_figures(
    results: Results, figures: Sequence[ReportFigure], source: Path, target: Path
) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        if figure.is_available(results):
            copyfile(source / f"{figure.name}.png", target / f"{figure.name}.png")


def _write_pages(out: Path, page: str, numbers: str, facts: dict[str, Any], text: str) -> Path:
    _write(out / f"{numbers}.json", json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    _write(out / f"{page}.html", render_page(text, out / "figures"))
    return out / f"{page}.html"


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())
