"""The report as Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Final

from experiments import tables
from experiments.claims import (
    BEYOND_RULE,
    RULE,
    Claim,
    Judgement,
    Status,
    Verdict,
    judge,
    judge_beyond,
)
from experiments.figures import BEYOND_FIGURES, FIGURES, ReportFigure
from experiments.methods import PRIOR_OPTIONS, READINGS
from experiments.results import Results
from experiments.tables import Cell, Table
from variegate.policies import LMDH

TITLE: Final = "The paper's experiments, run again"
BEYOND_TITLE: Final = "Beyond the paper"
#: The folders of the figures, relative to the pages.
FIGURE_FOLDER: Final = "pictures/reproduction"
BEYOND_FIGURE_FOLDER: Final = "pictures/beyond"

PAPER: Final = (
    "Ding, Liu, Miao, Cheng and Tang, “A Hybrid Bandit Framework for Diversified Recommendation” "
    "(AAAI 2021)"
)
QUICK: Final = (
    "**A quick run: few users, few splits, short simulations. Its intervals are wide, and verdicts "
    "may change in the full run.**"
)
SYNTHETIC: Final = (
    "**Generated likes, not the paper's data: verdicts say nothing about the paper, and where a "
    "table or figure has MovieLens-100K it means these.**"
)
#: What the paper leaves open, and our reading of it; docs/explanation/paper.md has all of them,
#: with reasons.
OPEN_POINTS: Final[Mapping[str, str]] = {
    "The normaliser of the distance": "The factor 2 / (|A|(|A| - 1)) has no meaning for one item "
    "and changes while a list grows. Three readings are measured: by the pairs of the list so far "
    "(growing, the default on real data), of the whole list (fixed), and no factor (none, the "
    "default in the simulation, since only it gives the paper's approximation ratios).",
    "DC2B": "Only its abstract could be read, so it is a reconstruction, and its label names the "
    "choices. The variant with an intercept is stronger on real data and is shown beside it.",
    "C2UCB's exploration": "Not given; 1 is used, as for the other upper-bound learners.",
    "The embeddings": "BPR's settings are not given. Here it has no item bias, so that popularity "
    "is in the factors; all numbers are then divided by the largest, to lie in [-1, 1].",
    "The evaluation": "The paper calls it unbiased, but every item that a user did not rate counts "
    "as rejected. It is called replay here, and its numbers compare methods; they do not predict "
    "what people would click.",
    "Likes outside the candidates": "An item that no training user liked has no embedding and "
    "cannot be shown. Recall leaves such items out of its denominator, and users who like no "
    "candidate at all are left out and counted.",
    "Splits, seeds, the simulation's horizon": "Not given. The settings above have "
    "those used here.",
}


def paper_markdown(results: Results, judgement: Judgement | None = None) -> str:
    """Return the body of the page on the paper's experiments."""
    found = judgement or judge(results)
    return _join(
        _paper_opening(results, found),
        "## The paper's claims",
        RULE,
        claims_table("the paper says", found.claims),
        "## A further question",
        claims_table("question", found.questions),
        "## The three readings of the normaliser",
        "The factor of the distance can be read in three ways. The claims above are judged with "
        "“growing”, the default of LMDH; here are the verdicts under all three:",
        rows_table(
            ("claim", *READINGS),
            [
                (claim.says, *(verdicts[reading].status.value for reading in READINGS))
                for claim, verdicts in found.by_reading.items()
            ],
        ),
        "## Figures",
        *_figures(results, FIGURES, FIGURE_FOLDER),
        "## Tables",
        *_paper_tables(results),
        "## Settings",
        settings_markdown(results),
        "## What the paper leaves open",
        "\n".join(f"- **{what}.** {how}" for what, how in OPEN_POINTS.items()),
    )


def beyond_markdown(results: Results, *, settings: bool = True) -> str:
    """Return the body of the page on the experiments beyond the paper."""
    datasets = ", ".join(map(results.dataset_title, results.beyond.replays)) or "no data set"
    parts = [
        "LMDP starts from a prior of the items' relevance, the mean and covariance of the training "
        "users' likes, and keeps a floor under the weight of diversity, in proportion to the "
        f"relevance of the best items that are left. Measured on {datasets}, on the same test "
        "users as LMDH and the paper's baselines.",
        learner_settings(),
        *([QUICK] if results.quick else []),
        *([SYNTHETIC] if results.is_synthetic else []),
        "## Our claims",
        BEYOND_RULE,
        claims_table("we claim of LMDP", judge_beyond(results)),
        "## Figures",
        *_figures(results, BEYOND_FIGURES, BEYOND_FIGURE_FOLDER),
        "## Tables",
    ]
    for heading, found in beyond_tables(results):
        parts += [f"### {heading}", *map(number_table, found)]
    return _join(*parts, *(["## Settings", settings_markdown(results)] if settings else []))


def learner_settings() -> str:
    """Return the settings of our learner, and where they come from."""
    papers = signature(LMDH).parameters
    prior = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in PRIOR_OPTIONS.items())
    return (
        f"One set of settings for all data sets: the prior was fitted with {prior}. LMDH has the "
        f"paper's: λ = {papers['ridge'].default:g}, α = {papers['exploration'].default:g}, "
        "no floor."
    )


def beyond_tables(results: Results) -> Iterator[tuple[str, list[Table]]]:
    """Yield the tables beyond the paper under their headings."""
    beyond = results.beyond
    for dataset, replays in beyond.replays.items():
        found = [*tables.relative_tables(replays), tables.ablation_table(replays)]
        found += tables.frontier_tables(beyond.frontier.get(dataset, {}))
        yield results.dataset_title(dataset), found
    if beyond.distances is not None:
        yield "Several distances", [tables.distances_table(beyond.distances)]
    if beyond.simulated:
        yield "Simulated users", list(tables.simulated_tables(beyond.simulated))


def settings_markdown(results: Results) -> str:
    """Return how it was measured, and how long that took."""
    facts = {name: value for name, value in results.facts.items() if name != "seconds"}
    seconds = results.facts.get("seconds", {})
    return "\n\n".join(
        [
            _users_measured(results),
            "\n".join(f"- {name}: {value}" for name, value in flat_facts(facts)),
            *([number_table(tables.seconds_table(seconds))] if seconds else []),
        ]
    )


def flat_facts(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield each fact as a name and its value as text, nested ones included."""
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from flat_facts(value, f"{prefix}{name}: ")
        else:
            yield f"{prefix}{name}".replace("_", " "), _fact_text(value)


def claims_table(head: str, claims: Mapping[Claim, Verdict]) -> str:
    """Return claims with their verdicts and what was measured."""
    rows = [
        (
            f"{claim.says} ({claim.place})<br>*Rule: {claim.rule}*",
            f"**{verdict.status}**",
            _evidence(verdict),
        )
        for claim, verdict in claims.items()
    ]
    return rows_table((head, "verdict", "measured"), rows)


def number_table(table: Table) -> str:
    """Return a table of numbers under its title."""
    rows = [(name, *map(_cell, cells)) for name, cells in table.rows]
    note = f"\n\n{table.note}" if table.note else ""
    return f"{table.title}:\n\n{rows_table(table.heads, rows, numbers=True)}{note}"


def rows_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False
) -> str:
    """Return a table; with `numbers`, all but its first column are aligned right."""
    rule = ["---", *("---:" if numbers else "---" for _ in heads[1:])]
    # A bar inside a cell would end it.
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (heads, *rows)]
    lines.insert(1, rule)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _paper_opening(results: Results, judgement: Judgement) -> str:
    verbs = {Status.HOLDS: "hold", Status.IN_PART: "hold in part", Status.FAILS: "do not hold"}
    counts = ", ".join(
        f"{judgement.count(status)} {verbs.get(status, 'were not measured')}"
        for status in Status
        if judgement.count(status)
    )
    datasets = ", ".join(map(results.dataset_title, results.replays)) or "no data set"
    quick = f"\n\n{QUICK}" if results.quick else ""
    if results.is_synthetic:
        quick += f"\n\n{SYNTHETIC}"
    return (
        f"The experiments of {PAPER}, run on {datasets} and in simulation. Of the paper's "
        f"{len(judgement.claims)} claims, {counts}.{quick}"
    )


def _paper_tables(results: Results) -> Iterator[str]:
    yield number_table(tables.table_1(results))
    if results.replays:
        yield (
            "Measures are means ± standard error over users, by bootstrap; the best of each column "
            "is bold. With several splits, the last column is the standard error over splits at "
            "the last round."
        )
    for dataset, replays in results.replays.items():
        title = results.dataset_title(dataset)
        yield f"### {title}"
        yield from map(number_table, tables.measure_tables(replays))
        yield number_table(tables.catalogue_table(title, replays))
    if results.regrets:
        yield number_table(tables.regret_table(results))
    if results.ratios:
        yield number_table(tables.ratio_table(results))


def _figures(results: Results, figures: Sequence[ReportFigure], folder: str) -> Iterator[str]:
    for figure in figures:
        if figure.is_available(results):
            yield (
                f"![{figure.title}]({folder}/{figure.name}.png)\n\n"
                f"**{figure.title}.** {figure.caption}"
            )


def _users_measured(results: Results) -> str:
    counts = [
        f"{results.dataset_title(dataset)} "
        + " + ".join(f"{len(scores.recall):,}" for scores in next(iter(replays.values())))
        for dataset, replays in (results.replays or results.beyond.replays).items()
        if replays
    ]
    left_out = results.facts.get("users left out", {})
    return (
        f"Test users measured, split by split: {'; '.join(counts) or 'none'}. Left out, because "
        f"they like none of the candidates: {sum(left_out.values()):,}."
    )


def _evidence(verdict: Verdict) -> str:
    """Return the parts of a verdict, each with its own status where they differ."""
    measured = [part for part in verdict.evidence if part.status is not Status.NOT_MEASURED]
    differ = len({part.status for part in measured}) > 1
    return "<br>".join(
        f"{part.where}: {part.finding}"
        + (f" (*{part.status}*)" if differ and part in measured else "")
        for part in verdict.evidence
    )


def _cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    return f"{text} ± {cell.error}" if cell.error else text


def _fact_text(value: Any) -> str:
    if value is None or value == {}:
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _join(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
