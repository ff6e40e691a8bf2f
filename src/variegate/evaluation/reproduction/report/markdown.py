"""The report as Markdown, for the documentation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from variegate.evaluation.reproduction.claims import RULE, Claim, Judgement, Status, Verdict, judged
from variegate.evaluation.reproduction.figures import PICTURES, Picture
from variegate.evaluation.reproduction.names import READINGS, dataset_title
from variegate.evaluation.reproduction.report import tables
from variegate.evaluation.reproduction.report.open_points import OPEN_POINTS
from variegate.evaluation.reproduction.results import Results

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
        _claims("the paper says", found.claims),
        "## Beside the paper",
        _claims("question", found.questions),
        "The same claims under each reading of the normaliser:",
        _readings(found),
        "## Figures",
        *(_figure(picture) for picture in pictures),
        "## Tables",
        *_tables(results),
        "## Settings",
        _settings(results),
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


def _claims(head: str, claims: Mapping[Claim, Verdict]) -> str:
    rows = [
        (
            f"{claim.says} ({claim.place})",
            f"**{verdict.status}**",
            "<br>".join(f"{part.where}: {part.finding}" for part in verdict.evidence),
        )
        for claim, verdict in claims.items()
    ]
    return _rows((head, "verdict", "measured"), rows)


def _readings(judgement: Judgement) -> str:
    rows = [
        (claim.says, *(verdicts[reading].status.value for reading in READINGS))
        for claim, verdicts in judgement.by_reading.items()
    ]
    return _rows(("claim", *READINGS), rows)


def _figure(picture: Picture) -> str:
    place = f"{PICTURE_FOLDER}/{picture.name}.png"
    return f"![{picture.title}]({place})\n\n**{picture.title}.** {picture.caption}"


def _tables(results: Results) -> list[str]:
    parts = [_table(tables.table_1(results))]
    for dataset in results.replays:
        title = dataset_title(results, dataset)
        parts.append(f"### {title}")
        parts += [_table(found) for found in tables.measure_tables(results, dataset)]
        parts.append(_table(tables.beyond_table(results, dataset)))
    if results.regrets:
        parts.append(_table(tables.regret_table(results)))
    if results.ratios:
        parts.append(_table(tables.ratio_table(results)))
    return parts


def _table(found: tables.Table) -> str:
    rows = [(name, *map(_cell, cells)) for name, cells in found.rows]
    note = f"\n\n{found.note}" if found.note else ""
    return f"{found.title}:\n\n{_rows(found.heads, rows, numbers=True)}{note}"


def _cell(cell: tables.Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} ± {cell.error}" if cell.error else text


def _settings(results: Results) -> str:
    seconds = results.facts.get("seconds", {})
    facts = {name: value for name, value in results.facts.items() if name != "seconds"}
    listed = "\n".join(f"- {name}: {value}" for name, value in tables.flat_facts(facts))
    told = f"{tables.users_in_words(results)}\n\n{listed}"
    return f"{told}\n\n{_table(tables.seconds_table(seconds))}" if seconds else told


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    rule = ["---", *("---:" if numbers else "---" for _ in heads[1:])]
    # A bar inside a cell would end it.
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
