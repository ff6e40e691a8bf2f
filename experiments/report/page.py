"""The report as one HTML page that needs nothing else."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from experiments.claims import RULE, Judgement, Status
from experiments.figures import Picture
from experiments.names import READINGS, dataset_title
from experiments.report import tables
from experiments.report.markup import (
    badge,
    claims_table,
    figure,
    number_table,
    paragraph,
    section,
    table,
    whole_page,
)
from experiments.report.open_points import OPEN_POINTS
from experiments.results import Results

TITLE: Final = "The paper’s experiments, run again"
PAPER: Final = (
    "Ding, Liu, Miao, Cheng and Tang, “A Hybrid Bandit Framework for Diversified "
    "Recommendation” (AAAI 2021)"
)
QUICK: Final = (
    "This is a quick run: few users, one split, short simulations. Its intervals are wide, and "
    "verdicts may change in the full run."
)
_SECTIONS: Final = {
    "claims": "What the paper claims",
    "beside": "Beside the paper",
    "table-1": "Table 1",
    "figures": "Figures",
    "tables": "Tables",
    "beyond": "Beyond the paper",
    "settings": "Settings and times",
    "open": "What the paper leaves open",
}


def page(
    results: Results,
    judgement: Judgement,
    pictures: Sequence[Picture],
    folder: Path,
    *,
    beyond: str = "",
) -> str:
    """Return the whole page; figures are read from `folder` and put inside it.

    `beyond` is the chapter that goes beyond the paper, as HTML.
    """
    sections = {
        "claims": claims_table("The paper says", judgement.claims) + paragraph(RULE, "soft"),
        "beside": _beside(judgement),
        "table-1": number_table(tables.table_1(results)),
        "figures": "".join(figure(picture, folder) for picture in pictures),
        "tables": _tables(results),
        "beyond": beyond,
        "settings": settings(results),
        "open": _open_points(),
    }
    there = {name: content for name, content in sections.items() if content or name != "beyond"}
    links = "".join(f'<li><a href="#{name}">{_SECTIONS[name]}</a></li>' for name in there)
    parts = [section(name, _SECTIONS[name], content) for name, content in there.items()]
    return whole_page(
        TITLE,
        f"<header><h1>{TITLE}</h1>{_opening(results, judgement)}</header>"
        f"<nav><ul>{links}</ul></nav><main>{''.join(parts)}</main>",
    )


def _opening(results: Results, judgement: Judgement) -> str:
    counts = [(status, judgement.count(status)) for status in Status]
    told = " ".join(badge(status, count) for status, count in counts if count)
    datasets = ", ".join(dataset_title(results, name) for name in results.replays) or "no data set"
    return (
        paragraph(f"{PAPER}: its experiments on {datasets} and in simulation.", "lead")
        + (paragraph(QUICK, "quick") if results.quick else "")
        + f"<p>Of the paper’s {len(judgement.claims)} claims: {told}</p>"
    )


def _beside(judgement: Judgement) -> str:
    rows = [
        (
            f"{escape(claim.says)} <small>({escape(claim.place)})</small>",
            *(badge(verdicts[reading].status) for reading in READINGS),
        )
        for claim, verdicts in judgement.by_reading.items()
    ]
    return (
        "<h3>Does exploring pay?</h3>"
        + claims_table("Question", judgement.questions)
        + "<h3>The same claims under each reading of the normaliser</h3>"
        + paragraph(
            "The factor in front of the distance can be read in three ways. The table above has "
            "LMDH with “growing”, its default; here are the verdicts for all three."
        )
        + table(("Claim", *READINGS), rows, kind="readings")
    )


def _tables(results: Results) -> str:
    parts = []
    if results.replays:
        parts.append(
            paragraph(
                "Mean ± standard error, users drawn anew; the best of each column in bold. Where "
                "there are several splits, each with embeddings of its own, the last column is "
                "the standard error over them at the last round."
            )
        )
    for dataset in results.replays:
        inner = [
            f"<h3>{t.title}</h3>{number_table(t)}" for t in tables.measure_tables(results, dataset)
        ]
        other = tables.beyond_table(results, dataset)
        inner.append(f"<h3>Coverage, evenness, novelty</h3>{number_table(other)}")
        title = escape(dataset_title(results, dataset))
        parts.append(f"<details open><summary>{title}</summary>{''.join(inner)}</details>")
    if results.regrets:
        parts.append(number_table(tables.regret_table(results), heading=True))
    if results.ratios:
        parts.append(number_table(tables.ratio_table(results), heading=True))
    return "".join(parts)


def settings(results: Results) -> str:
    """Return how it was measured, and how long that took."""
    facts = {name: value for name, value in results.facts.items() if name != "seconds"}
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in tables.flat_facts(facts)
    )
    seconds = results.facts.get("seconds")
    return (
        paragraph(tables.users_in_words(results))
        + f"<dl>{listed}</dl>"
        + (number_table(tables.seconds_table(seconds), heading=True) if seconds else "")
    )


def _open_points() -> str:
    items = "".join(f"<li><b>{escape(what)}.</b> {escape(how)}</li>" for what, how in OPEN_POINTS)
    return f"<ul>{items}</ul>"
