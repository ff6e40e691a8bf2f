"""`variegate simulate` and `ratios`: the paper's experiments with simulated users."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from variegate import evaluation
from variegate.cli.output import progress_bar
from variegate.cli.replay_options import out_option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from variegate.evaluation.parallel import Workers
    from variegate.policies import PolicySpec

BAR = 34


@click.command()
@click.option("--rounds", default=500, show_default=True, help="Lists shown to each user.")
@click.option("--runs", default=8, show_default=True, help="Simulated users.")
@click.option("--k", default=5, show_default=True, help="Items per list.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option(
    "--workers",
    default="1",
    show_default=True,
    help="Number of processes, or `ray`, or the address of a Ray cluster.",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    help="A policy: name, name:option=value,... or module:Class. Repeat to compare.  "
    "[default: the paper's]",
)
@out_option
def simulate(
    rounds: int,
    runs: int,
    k: int,
    seed: int,
    workers: str,
    policies: tuple[str, ...],
    out: str | None,
) -> None:
    """Show the cumulative regret on simulated users.

    By default LMDH is compared with its baselines. Each simulated user has known weights. The
    regret of a list is the difference between its value and that of the best list; the cumulative
    regret of a learner flattens. A policy of the default comparison that is named without options
    is as there: LMDH scales distances as the users do (normaliser=none).

    \b
    Examples:
        variegate simulate
        variegate simulate --rounds 2000 --runs 20 --out regret.png
        variegate simulate --rounds 2000 --runs 200 --workers ray
        variegate simulate --policy lmdh --policy lmdh:normaliser=none,exploration=0.1 --out a.csv
    """
    from rich.console import Console  # imported here to keep --help fast

    from variegate.arrays import check_count
    from variegate.evaluation.parallel import parse_workers
    from variegate.evaluation.result_table import check_format

    engine, compared = parse_workers(workers), _compared(policies)
    check_count(rounds, 1_000_000, name="rounds", of="the most that make sense")
    check_count(runs, 10_000, name="runs", of="the most that make sense")
    if out is not None:
        check_format(out)
    console = Console(highlight=False)
    console.print(
        f"{runs} simulated users, {rounds} lists of {k} out of 20 items each. Regret: value of the "
        "best list minus value of the list shown; s.e.: standard error over the users."
    )
    simulation = evaluation.Simulation(compared, rounds=rounds, runs=runs, k=k, seed=seed)
    if engine != 1:
        _play_on(engine, simulation, seed, compared)
    else:
        _play(simulation, console)
    console.print(_table(simulation, rounds))
    if not policies:
        console.print(_verdict(simulation))
    if out is not None:
        _write(simulation, out)
        console.print(f"Results: {out}")


def _play(simulation: "evaluation.Simulation", console: "Console") -> None:
    """Play all rounds; on a terminal, the table grows meanwhile."""
    from rich.live import Live

    if not console.is_terminal:
        for _ in simulation.play():
            pass
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        for played in simulation.play():
            if played % 5 == 0 or played == simulation.rounds:
                live.update(_table(simulation, played))


def _compared(policies: tuple[str, ...]) -> "dict[str, PolicySpec] | None":
    """Return the policies by their text, or None for the paper's."""
    from variegate.cli.output import import_from_working_directory
    from variegate.evaluation.simulation import simulated_policies
    from variegate.policies import parse_policy

    import_from_working_directory()
    papers = simulated_policies()
    return {text: papers.get(text) or parse_policy(text) for text in policies} or None


def _write(simulation: "evaluation.Simulation", out: str) -> None:
    """Write the plot of the regret, or its numbers."""
    import numpy as np

    from variegate.evaluation.plots import draw_regret
    from variegate.evaluation.result_table import ResultTable, Series, write_results

    if Path(out).suffix.lower() in (".png", ".svg", ".pdf"):
        draw_regret(simulation, out)
        return
    series, runs = [], simulation.runs
    for name, regret in zip(simulation.names, simulation.cumulative(), strict=True):
        mean = regret.mean(axis=0)
        error = regret.std(axis=0, ddof=1) / runs**0.5 if runs > 1 else np.zeros_like(mean)
        ends = (mean - 1.96 * error, mean + 1.96 * error)
        series.append(Series(name, "cumulative regret", mean, error, *ends))
    title = f"{runs} simulated users, lists of {simulation.k} out of 20 items"
    note = "± standard error over the users. Intervals: 1.96 standard errors to each side."
    write_results(ResultTable(title, note, "standard error", series), out)


def _play_on(
    workers: "Workers",
    simulation: "evaluation.Simulation",
    seed: int,
    compared: "dict[str, PolicySpec] | None",
) -> None:
    """Play all runs in several processes, with a progress bar."""
    size = {"rounds": simulation.rounds, "k": simulation.k, "seed": seed, "policies": compared}
    with progress_bar("Simulated users") as (update, _):
        done = itertools.count(1)
        simulation.regret[:] = evaluation.simulate_all(
            runs=simulation.runs,
            workers=workers,
            progress=lambda _runs: update(next(done), simulation.runs),
            **size,
        )


def _table(simulation: "evaluation.Simulation", played: int) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("policy", min_width=22)
    table.add_column(f"regret after {played} lists", min_width=BAR + 2)
    table.add_column("mean", justify="right")
    table.add_column("± s.e.", justify="right")
    totals = simulation.regret[:, :, :played].sum(axis=2)
    means = totals.mean(axis=1)
    errors = totals.std(axis=1, ddof=1) / simulation.runs**0.5 if simulation.runs > 1 else 0 * means
    for number in means.argsort(kind="stable"):
        label = simulation.labels[number].split(" (reconstructed")[0]
        bar = "█" * max(round(BAR * means[number] / max(means.max(), 1e-12)), 0)
        style = "bold" if simulation.names[number] == "lmdh" else ""
        table.add_row(label, bar, f"{means[number]:.1f}", f"{errors[number]:.1f}", style=style)
    return table


def _verdict(simulation: "evaluation.Simulation") -> str:
    totals = simulation.regret.sum(axis=2).mean(axis=1)
    regret = dict(zip(simulation.names, totals, strict=True))
    rivals = {name: regret[name] for name in ("c2ucb", "lsb", "dc2b")}
    best = min(rivals, key=rivals.__getitem__)
    share = regret["lmdh"] / rivals[best]
    labels = dict(zip(simulation.names, simulation.labels, strict=True))
    return (
        f"LMDH's regret is {share:.2f} times that of the best of the paper's other learners "
        f"({labels[best]}), {regret['lmdh'] / regret['uniform']:.2f} times that of random lists.\n"
        f"DC2B here: {labels['dc2b']}."
    )


@click.command()
@click.option(
    "--users", default=1000, show_default=True, help="Simulated users, each with 20 items."
)
@click.option("--seed", default=0, show_default=True, help="Random seed.")
def ratios(users: int, seed: int) -> None:
    """Compare each list search with the best list.

    These are the paper's approximation ratios.

    \b
    Example:
        variegate ratios --users 1000
    """
    import numpy as np  # imported here to keep --help fast
    from rich.console import Console
    from rich.table import Table

    from variegate.arrays import check_count

    check_count(users, 10_000_000, name="users", of="the most that make sense")
    console, searches = Console(highlight=False), ("greedy", "non-oblivious", "local")
    found = []
    with progress_bar("Searching all lists") as (update, _):
        for ratios_of_user in evaluation.approximation_ratios(searches, users=users, seed=seed):
            found.append(ratios_of_user)
            update(len(found), users)
    measured = np.array(found)
    errors = measured.std(axis=0, ddof=1) / users**0.5 if users > 1 else 0 * measured[0]
    table = Table(box=None, pad_edge=False, title=f"F(found) / F(best), mean of {users} users")
    table.add_column("search")
    for k in evaluation.PAPER_RATIOS:
        table.add_column(f"K = {k}", justify="right")
    table.add_row("paper's greedy", *(f"{ratio:.4f}" for ratio in evaluation.PAPER_RATIOS.values()))
    for name, means, spread in zip(searches, measured.mean(axis=0), errors, strict=True):
        table.add_row(
            name, *(f"{mean:.4f} ±{e:.4f}" for mean, e in zip(means, spread, strict=True))
        )
    console.print(table)
