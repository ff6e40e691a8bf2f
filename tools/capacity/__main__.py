"""`python -m tools.capacity`: measure costs, and check what the capacity plan predicts."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from tools.capacity.calibrate import calibrated
from tools.capacity.check import Check, checked
from tools.capacity.service import starting
from tools.loadtest.page import write_between
from variegate.capacity import Costs, Load, Plan, latency, plan, saturation
from variegate.capacity.report import rows_of
from variegate.cli.output import PlainErrors
from variegate.cli.plan import USERS

DOCS: Final = Path(__file__).parents[2] / "docs" / "explanation" / "capacity.md"
BEGIN: Final = "<!-- measured by `python -m tools.capacity` -->"
#: Shares of the saturation for which the page shows response times.
SHARES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--out", metavar="FILE", help="Write the measured costs, for `variegate plan`.")
@click.option("--costs", metavar="FILE", help="Check costs of an earlier run.  [default: measure]")
@click.option("--page", type=click.Path(path_type=Path), help="Write the figures to this page.")
@click.option("--seconds", default=24.0, show_default=True, help="Of each load.")
@click.option("--workers", default=2, show_default=True, help="Worker processes.")
@click.option("--users", default=2000, show_default=True, help="Number of users.")
def main(
    out: str | None,
    costs: str | None,
    page: Path | None,
    seconds: float,
    workers: int,
    users: int,
) -> None:
    """Measure what lists and feedback cost on PostgreSQL, and check the plan's predictions.

    One service is measured with 1 and 16 clients. From that its rate with 64 clients, and its
    response times and bytes at half of that rate, are predicted, and compared with another service
    with a new store and half as many users. Other programs on the machine make both worse.
    """
    with starting(workers) as start:
        if costs is None:
            with start() as service:
                measured = calibrated(service, seconds, users, workers)
        else:
            measured = Costs.load(costs)
        with start() as service:
            check = checked(service, measured, seconds, users // 2, workers)
    if out is not None:
        measured.save(out)
    text = "\n".join(_lines(measured, check, workers))
    if page is not None:
        write_between(page, text, BEGIN)
    click.echo(text)


def _lines(costs: Costs, check: Check, workers: int) -> Iterator[str]:
    full, half = (f"{share:.0%} of the CPU time" for share in check.others)
    yield f"\nOn {os.cpu_count()} cores, {workers} workers, beside clients and PostgreSQL."
    yield f"Other programs took {full} at saturation, {half} at half of it."
    yield f"{len(check.failures)} requests failed."
    yield "\n## Predicted and measured\n"
    yield "| | predicted | measured | difference | |\n|---|---|---|---|---|"
    yield from (one.row for one in check.compared)
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
