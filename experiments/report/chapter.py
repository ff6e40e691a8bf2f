"""The chapter beyond the paper, as a part of the page, as a page, and as Markdown."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from experiments.beyond.claims import RULE, judged_beyond
from experiments.beyond.contents import (
    PICTURES,
    TITLE,
    chapter_tables,
    opening,
    settings_in_words,
)
from experiments.figures import Picture
from experiments.report import marked, page
from experiments.report.markdown import settings
from experiments.report.markup import (
    claims_table,
    figure,
    number_table,
    paragraph,
    whole_page,
)
from experiments.results import Results

#: Where the chapter's figures stand, seen from its page.
PICTURE_FOLDER: Final = "pictures/beyond"

_ASKED: Final = "Asked of LMDP"


def chapter_html(results: Results, pictures: Sequence[Picture], folder: Path) -> str:
    """Return the chapter for the page; figures are read from `folder` and put inside it."""
    if results.beyond is None:
        return ""
    parts = [
        paragraph(opening(results)),
        paragraph(settings_in_words()),
        claims_table(_ASKED, judged_beyond(results)),
        paragraph(RULE, "soft"),
        *(figure(picture, folder) for picture in pictures),
    ]
    for heading, found in chapter_tables(results):
        inner = "".join(number_table(table, heading=True) for table in found)
        parts.append(f"<details open><summary>{escape(heading)}</summary>{inner}</details>")
    return "".join(parts)


def chapter_page(results: Results, pictures: Sequence[Picture], folder: Path) -> str:
    """Return a page of the chapter alone."""
    quick = paragraph(page.QUICK, "quick") if results.quick else ""
    return whole_page(
        TITLE,
        f"<header><h1>{TITLE}</h1>{quick}</header><main>"
        f"{chapter_html(results, pictures, folder)}<h2>Settings and times</h2>"
        f"{page.settings(results)}</main>",
    )


def chapter_markdown(results: Results) -> str:
    """Return the chapter as Markdown, for figures in `PICTURE_FOLDER`."""
    quick = ["**A quick run: few users, wide intervals.**"] if results.quick else []
    parts = [
        opening(results),
        settings_in_words(),
        *quick,
        "## What was asked",
        RULE,
        marked.claims_table(_ASKED, judged_beyond(results)),
        "## Figures",
        *(marked.figure(p, PICTURE_FOLDER) for p in PICTURES if p.is_there(results)),
        "## Tables",
    ]
    for heading, found in chapter_tables(results):
        parts += [f"### {heading}", *map(marked.number_table, found)]
    return "\n\n".join([*parts, "## Settings", settings(results)]) + "\n"
