"""`variegate plan`: cores, connections and storage for a number of users."""

from typing import TYPE_CHECKING, Any, Final

import click

from variegate.cli.output import plain_console, print_json, print_rows, say

if TYPE_CHECKING:
    from variegate.capacity import Plan

#: Users that are planned for by default.
USERS: Final = (1e6, 100e6, 1000e6)


@click.command()
@click.option(
    "--users", type=float, multiple=True, help="Number of users; repeatable.  [default: 1e6 ...]"
)
@click.option("--lists-per-day", default=3.0, show_default=True, help="Lists of a user per day.")
@click.option("--feedback", default=1.0, show_default=True, help="Reports of feedback per list.")
@click.option(
    "--peak", default=3.0, show_default=True, help="Busiest hour, as a multiple of the mean."
)
@click.option("--catalogue", default=1500.0, show_default=True, help="Number of items.")
@click.option("--keep-days", default=90.0, show_default=True, help="Days that lists are stored.")
@click.option("--costs", metavar="FILE", help="Costs by `python -m tools.capacity --out FILE`.")
@click.option("--database-cores", default=32.0, show_default=True, help="Cores of a primary.")
@click.option("--iops", default=20_000.0, show_default=True, help="Random I/O of a primary.")
@click.option("--memory", default=256.0, show_default=True, help="GB of memory of a primary.")
@click.option("--storage", default=4000.0, show_default=True, help="GB of storage of a primary.")
@click.option("--connections", default=500.0, show_default=True, help="max_connections.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def plan(
    users: tuple[float, ...],
    costs: str | None,
    as_json: bool,
    database_cores: float,
    iops: float,
    memory: float,
    storage: float,
    connections: float,
    **load: float,
) -> None:
    """Compute the hardware that a number of users needs.

    It prints cores, connections, storage and the next bottleneck. The costs of a list and of
    feedback were measured on the machine that the documentation names; `python -m tools.capacity`
    measures those of another one. All users are alike, requests arrive independently, and the
    service runs at half of its saturation in the busiest hour.

    \b
    Examples:
        variegate plan
        variegate plan --users 100e6 --lists-per-day 3 --catalogue 1e6
        variegate plan --users 5e6 --costs costs.json --database-cores 16
    """
    from variegate.capacity import Costs, Limits, Load
    from variegate.capacity import plan as planned
    from variegate.capacity.report import advice, assumptions, rows_of

    measured = Costs.load(costs)
    limits = Limits(
        database_cores=database_cores,
        iops=iops,
        memory=memory * 1e9,
        storage=storage * 1e9,
        connections=connections,
    )
    plans = [planned(measured, Load(users=n, **load), limits) for n in users or USERS]
    if as_json:
        print_json([_as_json(one) for one in plans])
        return
    console, table = plain_console(), rows_of(plans)
    print_rows(console, "users", table[0][1:], {row[0]: row[1:] for row in table[1:]})
    for one, name in zip(plans, table[0][1:], strict=True):
        say(console, f"{name} users:")
        for line in advice(one):
            say(console, f"  {line}")
    for line in assumptions(plans[0], measured):
        say(console, f"Assumed: {line}")


def _as_json(found: "Plan") -> dict[str, Any]:
    """Return a plan as plain data."""
    from dataclasses import asdict

    derived = {"shares": dict(found.shares), "primaries": found.primaries}
    asked = {"load": asdict(found.load), "latency": found.latency._asdict()}
    return {**asdict(found), **asked, **derived}
