"""The page for people, written from the numbers alone."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.bench_learning import WHOLE
from benchmarks.bench_lists import EXPERT, LIMIT
from benchmarks.markdown import duration, table, three_digits
from benchmarks.parts import PARTS
from benchmarks.plots import CAPTIONS
from benchmarks.results import Results

#: A plot stands in the section of its part; this one stands above them all.
FIRST_PLOT: Final = "ratios"


def page(results: Results, plots: Sequence[str], bars: Sequence[Mapping[str, Any]]) -> str:
    """Return the page; `plots` are the names of those that were drawn."""
    lines = ["# Benchmarks", "", *_summary(results), *_method(results), *_bars(bars)]
    lines += _picture(FIRST_PLOT, plots)
    for name, part in results.parts.items():
        about = PARTS[name]
        lines += [f"## {about.heading}", ""]
        lines += [line for reason in part.skipped for line in (f"*Skipped: {reason}.*", "")]
        if part.comparisons or part.growths or part.facts:
            lines += about.section(part)
        lines += _picture(name, plots)
    return "\n".join([*lines, *_machine(results)]).rstrip() + "\n"


def _summary(results: Results) -> list[str]:
    """Say the main numbers in a few sentences, as far as they were measured."""
    lists = results.part("lists")
    lines = []
    for items, d in ((3_533, 10), (1_000_000, 64)):
        expert, one = lists.find(EXPERT, items, d), lists.find(LIMIT, items, d)
        if expert and one:
            lines.append(
                f"A list of 10 from {items:,} items with {d} features takes"
                f" **{duration(expert.ours)}**: {three_digits(expert.ratio)} times as fast as the"
                " paper's lines as a NumPy expert writes them, and as long as"
                f" {three_digits(1.0 / one.ratio)} passes of one matrix-vector product over the"
                " catalogue."
            )
    lines += _others(results)
    whole = results.part("learning").find(WHOLE, 3_533, task="learn")
    if whole:
        lines.append(
            f"Learning from ten clicks takes {duration(whole.ours)}; a user's state has"
            f" {results.part('learning').facts['bytes of a state, d = 10, m = 1']:.0f} bytes"
            " (d = 10, m = 1)."
        )
    return [*lines, ""] if lines else []


def _others(results: Results) -> list[str]:
    found = [
        (row.other, row.ratio)
        for name, items in (("rerankers", 3_533), ("peers", 1_447))
        for row in results.part(name).of_task("list")
        if row.shape.items == items
    ]
    if not found:
        return []
    parts = ", ".join(
        f"{three_digits(ratio)} times as fast as {other}"
        for other, ratio in sorted(found, key=lambda pair: pair[1])
    )
    return [f"Beside the peers, each doing the nearest job that it can, a list is {parts}."]


def _method(results: Results) -> list[str]:
    quick = "**A quick run: the sizes are small and the numbers mean little.** "
    return [
        f"{quick if results.quick else ''}`make bench` made this page, its plots and"
        " `benchmarks/results.json` in one run; nothing here is typed. Both sides of a ratio"
        " take turns (A B A B …) after a warm-up, so that whatever else the machine does hits"
        " both. Times are medians; in brackets behind a ratio stand the 10% and 90% quantiles of"
        " the ratios turn by turn. Unless a section says otherwise every process is held to one"
        " core, and BLAS to one thread.",
        "",
    ]


def _bars(bars: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = [
        [
            row["what"],
            row["wanted"],
            "" if row["value"] is None else f"{_shown(row['value'])}{row['unit']}",
            f"**{row['verdict']}**" if row["verdict"] == "not met" else row["verdict"],
        ]
        for row in bars
    ]
    return ["## The bars", "", *table(["what was promised", "bar", "measured", ""], rows)]


def _shown(value: float) -> str:
    return f"{value:.4f}" if value < 1.0 else three_digits(value)


def _picture(name: str, plots: Sequence[str]) -> list[str]:
    if name not in plots:
        return []
    return [f"![{CAPTIONS[name]}](pictures/benchmarks/{name}.png)", "", f"*{CAPTIONS[name]}*", ""]


def _machine(results: Results) -> list[str]:
    took = sum(results.seconds.values())
    facts = {**results.machine, **results.versions, "minutes for all of it": f"{took / 60:.1f}"}
    return ["## The machine", "", *table(["", ""], [[name, fact] for name, fact in facts.items()])]
