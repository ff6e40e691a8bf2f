"""What an attack did and found, as lines, and on the page about durability."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from tools.attack.chaos import Chaos
from tools.attack.facts import Facts
from tools.findings import this_machine
from tools.loadtest.page import write_between

BEGIN: Final = "<!-- measured by `python -m tools.attack` -->"
#: Lines about what is wrong, at most.
MOST: Final = 20


def summary(facts: Facts, chaos: Chaos, wrong: Sequence[str]) -> Iterator[str]:
    """Yield what was done, what was answered and what is wrong."""
    for act, count in sorted(chaos.counts.items()):
        yield f"{count:6,}  {act}"
    if len(chaos.kills) > 1:
        gaps = np.diff(chaos.kills)
        yield f"killed by schedule every {gaps.mean():.1f} s, {gaps.max():.1f} s at most"
    for (kind, status), count in sorted(facts.answers.items()):
        yield f"{count:6,}  {kind} answered {status}"
    yield (
        f"{len(facts.lists):,} lists, {len(facts.reports):,} reports and {len(facts.forgotten):,} "
        f"removals acknowledged; slowest answer of an undisturbed replica {facts.slowest:.1f} s"
    )
    yield from (f"WRONG: {line}" for line in wrong[:MOST])
    yield f"{len(wrong)} wrong" if wrong else "nothing lost, nothing doubled, nothing hung, no 500"


def write_page(page: Path, minutes: float, lines: Sequence[str]) -> None:
    """Write what an attack of so many minutes found, and on which machine."""
    head = f"The latest run, of {minutes:g} minutes, on {this_machine()}:"
    write_between(page, "\n".join(["", head, "", "```text", *lines, "```"]), BEGIN)
