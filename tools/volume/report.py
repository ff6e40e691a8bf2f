"""The page of these measurements, docs/explanation/volume.md."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from tools.findings import Part, Report, this_machine

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "explanation" / "volume.md"

_HEAD: Final = """# Large stores, batches and Ray, measured

Each part names the command that measures it again. Every promise is judged by code from the
numbers. Times are of one run on {machine}, in which
the calls that are compared take turns.
"""
REPORT: Final = Report(
    Path(__file__).with_name("results.json"),
    {
        "slates": "A store with a long history",
        "log": "A log of interactions that is larger than memory",
        "lists": "Lists for a million users",
        "ray": "A replay on Ray",
    },
    _HEAD,
)


def report(name: str, part: Part, *, is_whole: bool) -> None:
    """Print findings, write those of a whole run to the page; end with 1 if one does not hold."""
    for one in part.findings:
        click.echo(f"{'holds' if one.holds else 'FAILS'}: {one.promise}: {one.found}")
    if is_whole:
        REPORT.save({name: replace(part, machine=this_machine())})
        PAGE.write_text(REPORT.page(REPORT.load()), encoding="utf-8")
        click.echo(f"written to {PAGE}")
    if not all(one.holds for one in part.findings):
        raise SystemExit(1)
