"""`python -m tools.capacity`: measure costs, and check what the capacity plan predicts."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias

import click

from tools.capacity.calibrate import Calibration
from tools.capacity.check import TOLERANCE, Check, LoadTest, verdicts
from tools.capacity.service import Service, Spent, starting
from tools.loadtest.page import write_between
from tools.loadtest.run import mixed_client
from variegate.capacity import Costs, Load, Plan, latency, plan, saturation
from variegate.capacity.report import rows_of
from variegate.cli.output import PlainErrors
from variegate.cli.plan import USERS

DOCS: Final = Path(__file__).parents[2] / "docs" / "explanation" / "capacity.md"
#: A page that is there: what is missing is told before the measurement, not after it.
PAGE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)
BEGIN: Final = "<!-- measured by `python -m tools.capacity` -->"
#: Measured costs, and the check of what they predict.
Run: TypeAlias = tuple[Costs, Check]
#: Turns of each load.
TURNS: Final = 8
#: Shares of the saturation for which the page shows response times.
SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--out", metavar="FILE", help="Write the measured costs, for `variegate plan`.")
@click.option("--page", type=PAGE, help="Write the figures to this page.")
@click.option("--runs", default=5, show_default=True, help="Measurements, each with its check.")
@click.option("--seconds", default=16.0, show_default=True, help="Of each load.")
@click.option("--workers", default=2, show_default=True, help="Worker processes.")
@click.option("--users", default=2000, show_default=True, help="Number of users.")
def main(
    out: str | None,
    page: Path | None,
    runs: int,
    seconds: float,
    workers: int,
    users: int,
) -> None:
    """Measure what lists and feedback cost on PostgreSQL, and check the plan's predictions.

    One service is measured with 1 and 16 clients. From that its rate with 64 clients, and its
    response times and bytes at half of that rate, are predicted, and compared with another service
    with a new store and half as many users. Other programs on the machine make all of it worse:
    the costs are those of the run in which they took the least CPU.
    """
    with starting(workers) as start:
        found = [_run(start, seconds, users, workers) for _ in range(runs)]
    best, _check = min(found, key=lambda run: max(run[1].others))
    if out is not None:
        best.save(out)
    text = "\n".join(_lines(found, best, workers))
    if page is not None:
        write_between(page, text, BEGIN)
    click.echo(text)
    if not all(one.holds for one in verdicts([check for _costs, check in found])):
        raise SystemExit(1)


def _run(
    start: Callable[[str], AbstractContextManager[Service]],
    seconds: float,
    users: int,
    workers: int,
) -> Run:
    """Measure costs and load another service in turns, so that both see the same machine."""
    with start("measured") as ours, start("tested") as other:
        calibration = Calibration(ours, users, workers)
        test = LoadTest(other, users // 2, workers)
        for service in (ours, other):  # fills caches
            service.closed(Spent(), mixed_client(users // 2, -1, None), 16, seconds / TURNS)
        for turn in range(TURNS):
            calibration.turn(turn, seconds / TURNS)
            test.turn(turn, seconds / TURNS)
        costs = calibration.costs()
        return costs, test.compare(costs, calibration)


def _lines(runs: Sequence[Run], costs: Costs, workers: int) -> Iterator[str]:
    yield f"\nOn {os.cpu_count()} cores, {workers} workers, beside clients and PostgreSQL."
    yield "\n## Predicted and measured\n"
    yield f"Promised within {TOLERANCE:.0%}, judged by the middle of {len(runs)} runs.\n"
    yield "| promised | middle run off by | runs within 30% | |\n|---|---|---|---|"
    yield from (one.row for one in verdicts([check for _costs, check in runs]))
    for number, (_costs, check) in enumerate(runs, start=1):
        full, half = (f"{share:.0%} of the CPU time" for share in check.others)
        yield f"\nRun {number}: other programs took {full} at saturation, {half} at half of it;"
        yield f"{len(check.failures)} requests failed.\n"
        yield f"Calibrated with {check.calibrated}; checked with {check.tested}.\n"
        yield "| | predicted | measured | difference | |\n|---|---|---|---|---|"
        yield from (one.row for one in check.compared)
    yield "\nBelow are the costs of the run in which other programs took the least."
    yield "\n## Response times of a worker by arrival rate\n"
    yield "| share of the saturation | requests/s | p50 | p99 | requests per batch |"
    yield "|---|---|---|---|---|"
    most = saturation(costs)
    for share in SHARES:
        seen = latency(costs, share * most)
        yield (
            f"| {share:.0%} | {share * most:,.0f} | {seen.p50 * 1e3:.1f} ms | "
            f"{seen.p99 * 1e3:.1f} ms | {seen.batch:.1f} |"
        )
    yield "\n## The plan with these costs\n"
    yield from _table([plan(costs, Load(users=users)) for users in USERS])


def _table(plans: Sequence[Plan]) -> Iterator[str]:
    rows = rows_of(plans)
    yield f"| {' | '.join(rows[0])} |\n|---|{'---|' * len(plans)}"
    yield from (f"| {' | '.join(row)} |" for row in rows[1:])


if __name__ == "__main__":
    main()
