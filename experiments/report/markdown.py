"""The report as Markdown, for the documentation."""

from typing import Final

from experiments.claims import RULE, Judgement, Status, judged
from experiments.figures import PICTURES
from experiments.names import READINGS, dataset_title
from experiments.report import tables
from experiments.report.marked import (
    claims_table,
    figure,
    number_table,
    rows_table,
)
from experiments.report.open_points import OPEN_POINTS
from experiments.results import Results

#: Where figures stand, seen from the page.
PICTURE_FOLDER: Final = "pictures/reproduction"


def write_markdown(results: Results, judgement: Judgement | None = None) -> str:
    """Return the body of the page on the reproduction, for figures in `PICTURE_FOLDER`."""
    found = judgement or judged(results)
    pictures = [picture for picture in PICTURES if picture.is_there(results)]
    parts = [
        _opening(results, found),
        "## The paper's claims",
        RULE,
        claims_table("the paper says", found.claims),
        "## Beside the paper",
        claims_table("question", found.questions),
        "The same claims under each reading of the normaliser:",
        _readings(found),
        "## Figures",
        *(figure(picture, PICTURE_FOLDER) for picture in pictures),
        "## Tables",
        *_tables(results),
        "## Settings",
        settings(results),
        "## What the paper leaves open",
        "\n".join(f"- **{what}.** {how}" for what, how in OPEN_POINTS),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(results: Results, judgement: Judgement) -> str:
    counts = ", ".join(
        f"{status.value}: {judgement.count(status)}" for status in Status if judgement.count(status)
    )
    datasets = ", ".join(dataset_title(results, name) for name in results.replays)
    quick = "\n\n**A quick run: few users, wide intervals.**" if results.quick else ""
    return (
        f"Measured on {datasets or 'no data set'} and in simulation. Of the paper's "
        f"{len(judgement.claims)} claims, {counts}.{quick}"
    )


def _readings(judgement: Judgement) -> str:
    rows = [
        (claim.says, *(verdicts[reading].status.value for reading in READINGS))
        for claim, verdicts in judgement.by_reading.items()
    ]
    return rows_table(("claim", *READINGS), rows)


def _tables(results: Results) -> list[str]:
    parts = [number_table(tables.table_1(results))]
    for dataset in results.replays:
        title = dataset_title(results, dataset)
        parts.append(f"### {title}")
        parts += [number_table(found) for found in tables.measure_tables(results, dataset)]
        parts.append(number_table(tables.beyond_table(results, dataset)))
    if results.regrets:
        parts.append(number_table(tables.regret_table(results)))
    if results.ratios:
        parts.append(number_table(tables.ratio_table(results)))
    return parts


def settings(results: Results) -> str:
    """Return how it was measured, and how long that took."""
    seconds = results.facts.get("seconds", {})
    facts = {name: value for name, value in results.facts.items() if name != "seconds"}
    listed = "\n".join(f"- {name}: {value}" for name, value in tables.flat_facts(facts))
    told = f"{tables.users_in_words(results)}\n\n{listed}"
    return f"{told}\n\n{number_table(tables.seconds_table(seconds))}" if seconds else told
