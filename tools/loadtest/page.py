"""Measure the figures of docs/explanation/load.md and write them: `python -m tools.loadtest.page`.

Five runs with each store, the start and the import, each judged against a bar. It takes about ten
minutes, on a machine that does nothing else.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import click
import numpy as np

from tools.attack.replicas import Database
from tools.loadtest.limits import Service, limits, rate_for_ratio, reasons
from tools.loadtest.profile import microseconds, table
from tools.loadtest.run import POSTGRES_SHARE, SQLITE_SHARE, Found, Plan, tried
from tools.loadtest.server import cpu_seconds, own_service, processes_by_role
from tools.loadtest.startup import import_ratios, middle, start_seconds
from variegate.cli.output import PlainErrors

PAGE: Final = Path(__file__).parents[2] / "docs" / "explanation" / "load.md"
#: The generated part of the page stands between these lines.
BEGIN: Final = "<!-- measured by `python -m tools.loadtest.page` -->"
END: Final = "<!-- end of what was measured -->"

# The other bars.
#: Times the empty route's: what 64 clients waited for a list, before the rate was raised
POSTGRES_P99: Final = 3.9
START_SECONDS: Final = 2.0
MEMORY_MB: Final = 350.0
IMPORT_RATIO: Final = 2.0

_PARTS: Final = (
    "Microseconds of CPU per request in the engine alone, half of them lists and half feedback, by",
    "`python -m tools.loadtest.profile`, without the PostgreSQL server:",
)


class Bar(NamedTuple):
    """A promise, what was measured, and whether it was met in every run that it is about."""

    what: str
    measured: str
    is_met: bool

    @property
    def row(self) -> str:
        """The row of a table."""
        return f"| {self.what} | {self.measured} | {'met' if self.is_met else '**not met**'} |"


class Run(NamedTuple):
    """What one run found, in the units of the page."""

    found: Found
    #: Microseconds of CPU per request of lists and feedback, by the role of the process
    mixed: dict[str, float]
    #: The same of the empty route
    empty: dict[str, float]

    @property
    def megabytes(self) -> float:
        """The memory at the end."""
        return self.found.memory[-1] / 1e6

    @property
    def p99_ratio(self) -> float:
        """How many times as long as the empty route's the slowest hundredth of lists takes."""
        slow = [float(np.quantile(times, 0.99)) for times in (self._lists, self._empty)]
        return slow[0] / slow[1]

    @property
    def _lists(self) -> Sequence[float]:
        return self.found.mixed.times["list"]

    @property
    def _empty(self) -> Sequence[float]:
        return self.found.empty.times["empty"]

    @property
    def row(self) -> str:
        """The row of a table."""
        p50, p99 = np.quantile(self._lists, [0.5, 0.99]) * 1e3
        empty = float(np.quantile(self._empty, 0.99)) * 1e3
        return (
            f"| {self.found.empty.rate:,.0f} | {self.found.mixed.rate:,.0f} | "
            f"{self.found.share:.0%} | {p50:.0f} ms | {p99:.0f} ms | {empty:.0f} ms | "
            f"{self.megabytes:,.0f} MB |"
        )


@click.command(cls=PlainErrors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", default=5, show_default=True, help="Runs with each store.")
@click.option("--clients", default=64, show_default=True, help="Concurrent connections.")
@click.option("--seconds", default=12.0, show_default=True, help="Of each load in a run.")
@click.option("--out", type=click.Path(path_type=Path), default=PAGE, help="The page to change.")
def main(runs: int, clients: int, seconds: float, out: Path) -> None:
    """Measure the service on SQLite and PostgreSQL, and write the tables of the page."""
    plan, busy = Plan(clients, seconds), os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="variegate-postgres-") as folder:
        ratios, starts = import_ratios(runs), start_seconds(runs)
        sqlite = [_measured(plan, None, 1) for _ in range(runs)]
        server = Database(Path(folder) / "data")
        try:
            postgres = [_measured(plan, server, 2) for _ in range(runs)]
            parts = _profiles(server)
        finally:
            server.close()
    judged = bars(sqlite, postgres, starts, ratios)
    lines = ["", *_conditions(runs, seconds, busy), *_tables(sqlite, postgres)]
    lines += ["", "## The engine", "", *_PARTS, "", *table(parts)]
    lines += [*_table_of_bars(judged), *explained(sqlite, postgres, parts, os.cpu_count() or 1)]
    text = "\n".join(lines)
    write_between(out, text)
    click.echo(text)


def _conditions(runs: int, seconds: float, busy: float) -> list[str]:
    return [
        f"{runs} runs with each store, {seconds:g} seconds of each load. Before them the load",
        f"average was {busy:.1f} on {os.cpu_count()} cores. Above 0.5, other programs",
        "took part of the time: rates and latencies are worse than on an idle machine, and so are",
        "shares on SQLite, where three processes wait for two cores; CPU times differ less.",
    ]


def bars(
    sqlite: Sequence[Run], postgres: Sequence[Run], starts: list[float], ratios: list[float]
) -> list[Bar]:
    """Return what was promised, judged by runs with each store, starts and imports."""
    memory = max(run.megabytes for run in sqlite)
    failures = sum(len(run.found.failures) for run in (*sqlite, *postgres))
    p99 = [run.p99_ratio for run in postgres]
    return [
        _share("SQLite, one worker", sqlite, SQLITE_SHARE),
        _share("PostgreSQL, two workers", postgres, POSTGRES_SHARE),
        Bar(
            f"PostgreSQL, p99 of a list at most {POSTGRES_P99:g} times the empty route's (median)",
            middle(p99),
            median(p99) <= POSTGRES_P99,
        ),
        Bar(
            f"`variegate serve` to the first list, warm, at most {START_SECONDS:g} s (median)",
            f"{middle(starts)} s",
            median(starts) <= START_SECONDS,
        ),
        Bar(
            f"memory of one worker with its engine process at most {MEMORY_MB:g} MB (largest)",
            f"{memory:,.0f} MB",
            memory <= MEMORY_MB,
        ),
        Bar(
            f"`from variegate import LMDH, Catalogue` at most {IMPORT_RATIO:g} times "
            "`import numpy` (median)",
            middle(ratios),
            median(ratios) <= IMPORT_RATIO,
        ),
        Bar("no request failed", f"{failures} failed", failures == 0),
    ]


def _share(name: str, runs: Sequence[Run], least: float) -> Bar:
    shares = [run.found.share for run in runs]
    measured = f"{min(shares):.0%} to {max(shares):.0%}"
    return Bar(
        f"{name}: at least {least:.0%} of the empty route's rate in each run",
        measured,
        min(shares) >= least,
    )


def _table_of_bars(judged: Sequence[Bar]) -> list[str]:
    head = ["", "## Bars", "", "| bar | measured | |", "|---|---|---|"]
    return [*head, *(bar.row for bar in judged)]


def explained(
    sqlite: Sequence[Run],
    postgres: Sequence[Run],
    parts: dict[str, dict[str, float]],
    cores: int,
) -> Iterator[str]:
    """Yield what the measured CPU times allow, and why a bar was not met."""
    services = {
        "SQLite": _service(sqlite, parts["SQLite"], 1, SQLITE_SHARE),
        "PostgreSQL": _service(postgres, parts["PostgreSQL"], 2, POSTGRES_SHARE),
    }
    yield from ("", "## What the CPU allows", "", *limits(services, cores))
    ratio = median(run.p99_ratio for run in postgres)
    why = list(reasons(services, cores))
    if ratio > POSTGRES_P99:
        why.append(rate_for_ratio(services["PostgreSQL"], ratio, POSTGRES_P99))
    for one in why:
        yield from ("", one)


def _service(runs: Sequence[Run], parts: dict[str, float], workers: int, share: float) -> Service:
    micro = {role: median(run.mixed[role] for run in runs) for role in runs[0].mixed}
    rate, empty = (
        median(phase.rate for phase in phases)
        for phases in ([run.found.mixed for run in runs], [run.found.empty for run in runs])
    )
    return Service(rate, empty, micro, parts, workers, share)


def _tables(sqlite: Sequence[Run], postgres: Sequence[Run]) -> Iterator[str]:
    for name, runs in (("SQLite, one worker", sqlite), ("PostgreSQL, two workers", postgres)):
        yield from ("", f"## {name}", "")
        yield "| empty/s | lists and feedback/s | share | p50 | p99 | empty p99 | memory |"
        yield "|---|---|---|---|---|---|---|"
        yield from (run.row for run in runs)
        yield from ("", "Microseconds of CPU per request, median of the runs:", "")
        yield from _cpu_table(runs)


def _cpu_table(runs: Sequence[Run]) -> Iterator[str]:
    roles = list(runs[0].mixed)
    yield f"| | {' | '.join(roles)} | all |"
    yield f"|---|{'---|' * len(roles)}---|"
    kinds: list[tuple[str, Callable[[Run], dict[str, float]]]] = [
        ("empty", lambda run: run.empty),
        ("lists and feedback", lambda run: run.mixed),
    ]
    for name, of in kinds:
        values = [median(of(run)[role] for run in runs) for role in roles]
        shown = " | ".join(f"{value:.0f}" for value in (*values, sum(values)))
        yield f"| {name} | {shown} |"


def _measured(plan: Plan, server: Database | None, workers: int) -> Run:
    """Return one run with a new service and a new store."""
    with (
        fresh_store(server) as store,
        own_service(store, workers) as (host, port, pid),
    ):
        spent = {"empty": dict[str, float](), "mixed": dict[str, float]()}

        @contextmanager
        def watch(kind: str) -> Iterator[None]:
            roles = processes_by_role(pid)
            if server is not None:
                roles["PostgreSQL"] = server.processes()
            before = {role: cpu_seconds(pids) for role, pids in roles.items()}
            yield
            for role, pids in roles.items():
                seconds = cpu_seconds(pids) - before[role]
                spent[kind][role] = spent[kind].get(role, 0.0) + seconds

        found = tried((host, port), plan, pid=pid, watch=watch)
    phases = {"empty": found.empty, "mixed": found.mixed}
    micro = {
        kind: {role: 1e6 * one / max(phases[kind].requests, 1) for role, one in roles.items()}
        for kind, roles in spent.items()
    }
    return Run(found, micro["mixed"], micro["empty"])


def _profiles(server: Database) -> dict[str, dict[str, float]]:
    """Return on what the engine spends its time with each store."""
    with fresh_store(server) as store:
        return {"SQLite": microseconds(), "PostgreSQL": microseconds(store)}


@contextmanager
def fresh_store(server: Database | None, name: str = "load") -> Iterator[str | None]:
    """Give the address of an empty database; None for a new file."""
    if server is None:
        yield None
        return
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        address = server.url.replace("/postgres?", f"/{name}?")
        try:
            yield address
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def write_between(page: Path, text: str, begin: str = BEGIN) -> None:
    """Replace what stands between the two marks of a page."""
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{begin}\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    main()
