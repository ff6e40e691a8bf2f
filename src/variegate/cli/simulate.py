"""`variegate simulate` and `ratios`: the paper's experiments with simulated users."""

import itertools
from typing import TYPE_CHECKING

import click

from variegate import evaluation
from variegate.cli.output import progress_bar

if TYPE_CHECKING:
    from rich.table import Table

    from variegate.evaluation.parallel import Workers

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
    "--out",
    type=click.Path(dir_okay=False),
    help="Plot the curves to this file (.png, .svg or .pdf).",
)
def simulate(rounds: int, runs: int, k: int, seed: int, workers: str, out: str | None) -> None:
    """Run LMDH and its baselines on simulated users and show their cumulative regret.

    Each simulated user has known weights. The regret of a list is the difference between its value
    and that of the best list; the cumulative regret of a learner flattens.

    \b
    Examples:
        variegate simulate
        variegate simulate --rounds 2000 --runs 20 --out regret.png
        variegate simulate --rounds 2000 --runs 200 --workers ray
    """
    from rich.console import Console  # imported here to keep --help fast
    from rich.live import Live

    from variegate.arrays import check_count
    from variegate.evaluation.parallel import parse_workers

    engine = parse_workers(workers)
    check_count(rounds, 1_000_000, name="rounds", of="the most that make sense")
    check_count(runs, 10_000, name="runs", of="the most that make sense")
    console = Console(highlight=False)
    console.print(
        f"{runs} simulated users, {rounds} lists of {k} out of 20 items each. Regret: value of the "
        "best list minus value of the list shown."
    )
    simulation = evaluation.Simulation(rounds=rounds, runs=runs, k=k, seed=seed)
    if engine != 1:
        _play_on(engine, simulation, seed)
        console.print(_table(simulation, rounds))
    elif console.is_terminal:
        with Live(console=console, refresh_per_second=8) as live:
            for played in simulation.play():
                if played % 5 == 0 or played == rounds:
                    live.update(_table(simulation, played))
    else:
        for _ in simulation.play():
            pass
        console.print(_table(simulation, rounds))
    console.print(_verdict(simulation))
    if out is not None:
        from variegate.evaluation.plots import draw_regret

        draw_regret(simulation, out)
        console.print(f"Plot: {out}")


def _play_on(workers: "Workers", simulation: "evaluation.Simulation", seed: int) -> None:
    """Play all runs in several processes, with a progress bar."""
    size = {"rounds": simulation.rounds, "k": simulation.k, "seed": seed}
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
    """Compare each list search with the best list (the paper's approximation ratios).

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
