"""The report as one HTML page that needs nothing else."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final

from variegate.evaluation.reproduction.claims import RULE, Claim, Judgement, Status, Verdict
from variegate.evaluation.reproduction.figures import Picture
from variegate.evaluation.reproduction.names import READINGS, dataset_title
from variegate.evaluation.reproduction.report import tables
from variegate.evaluation.reproduction.report.markup import (
    badge,
    evidence_list,
    paragraph,
    section,
    table,
)
from variegate.evaluation.reproduction.report.open_points import OPEN_POINTS
from variegate.evaluation.reproduction.report.style import CSS
from variegate.evaluation.reproduction.results import Results

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
    "settings": "Settings and times",
    "open": "What the paper leaves open",
}


def page(results: Results, judgement: Judgement, pictures: Sequence[Picture], folder: Path) -> str:
    """Return the whole page; figures are read from `folder` and put inside it."""
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in _SECTIONS.items())
    body = (
        f"<header><h1>{TITLE}</h1>{_opening(results, judgement)}</header>"
        f"<nav><ul>{links}</ul></nav><main>"
        + section("claims", _SECTIONS["claims"], _claims(judgement.claims), paragraph(RULE, "soft"))
        + section("beside", _SECTIONS["beside"], _beside(judgement))
        + section("table-1", _SECTIONS["table-1"], _table(tables.table_1(results)))
        + section("figures", _SECTIONS["figures"], *(_figure(p, folder) for p in pictures))
        + section("tables", _SECTIONS["tables"], _tables(results))
        + section("settings", _SECTIONS["settings"], _settings(results))
        + section("open", _SECTIONS["open"], _open_points())
        + "</main>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}</title><style>{CSS}</style></head><body>{body}</body></html>\n"
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


def _claims(claims: Mapping[Claim, Verdict]) -> str:
    rows = [
        (
            f"{escape(claim.says)}<br><small>{escape(claim.place)}. Judged by: "
            f"{escape(claim.rule)}.</small>",
            badge(verdict.status),
            evidence_list(verdict),
        )
        for claim, verdict in claims.items()
    ]
    return table(("The paper says", "Verdict", "Measured"), rows, kind="claims")


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
        + _claims(judgement.questions).replace("The paper says", "Question")
        + "<h3>The same claims under each reading of the normaliser</h3>"
        + paragraph(
            "The factor in front of the distance can be read in three ways. The table above has "
            "LMDH with “growing”, its default; here are the verdicts for all three."
        )
        + table(("Claim", *READINGS), rows, kind="readings")
    )


def _figure(picture: Picture, folder: Path) -> str:
    drawn = b64encode((folder / f"{picture.name}.svg").read_bytes()).decode()
    title, caption = escape(picture.title), escape(picture.caption)
    return (
        f'<figure id="{picture.name}"><img alt="{title}" '
        f'src="data:image/svg+xml;base64,{drawn}">'
        f"<figcaption><b>{title}.</b> {caption}</figcaption></figure>"
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
        inner = [f"<h3>{t.title}</h3>{_table(t)}" for t in tables.measure_tables(results, dataset)]
        other = tables.beyond_table(results, dataset)
        inner.append(f"<h3>Coverage, evenness, novelty</h3>{_table(other)}")
        title = escape(dataset_title(results, dataset))
        parts.append(f"<details open><summary>{title}</summary>{''.join(inner)}</details>")
    if results.regrets:
        parts.append(_table(tables.regret_table(results), heading=True))
    if results.ratios:
        parts.append(_table(tables.ratio_table(results), heading=True))
    return "".join(parts)


def _table(found: tables.Table, *, heading: bool = False) -> str:
    rows = [(escape(name), *map(_cell, cells)) for name, cells in found.rows]
    title = f"<h3>{escape(found.title)}</h3>" if heading else ""
    return title + table(found.heads, rows, caption=found.note, ours=found.ours)


def _cell(cell: tables.Cell) -> str:
    text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
    return f"{text} <small>± {escape(cell.error)}</small>" if cell.error else text


def _settings(results: Results) -> str:
    facts = {name: value for name, value in results.facts.items() if name != "seconds"}
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in tables.flat_facts(facts)
    )
    seconds = results.facts.get("seconds")
    return (
        paragraph(tables.users_in_words(results))
        + f"<dl>{listed}</dl>"
        + (_table(tables.seconds_table(seconds), heading=True) if seconds else "")
    )


def _open_points() -> str:
    items = "".join(f"<li><b>{escape(what)}.</b> {escape(how)}</li>" for what, how in OPEN_POINTS)
    return f"<ul>{items}</ul>"
