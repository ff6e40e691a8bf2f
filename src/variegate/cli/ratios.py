"""`variegate ratios`: how near greedy search comes to the best list."""

import click


@click.command()
@click.option("--users", default=1000, show_default=True, help="Users drawn, each with 20 items.")
@click.option("--seed", default=0, show_default=True, help="Same seed, same numbers.")
def ratios(users: int, seed: int) -> None:
    """Measure each list search against the best list of all (the paper's approximation ratios).

    \b
    Example:
        variegate ratios --users 1000
    """
    import numpy as np  # imported here to keep --help quick
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from variegate.arrays import check_count
    from variegate.evaluation import PAPER_RATIOS, approximation_ratios

    check_count(users, 10_000_000, name="users", of="the most that make sense")
    console, searches = Console(highlight=False), ("greedy", "non-oblivious", "local")
    drawn = track(
        approximation_ratios(searches, users=users, seed=seed),
        "Looking at every list",
        total=users,
        console=console,
        disable=not console.is_terminal,
    )
    measured = np.array(list(drawn))
    errors = measured.std(axis=0, ddof=1) / users**0.5 if users > 1 else 0 * measured[0]
    table = Table(box=None, pad_edge=False, title=f"F(found) / F(best), mean of {users} users")
    table.add_column("search")
    for k in PAPER_RATIOS:
        table.add_column(f"K = {k}", justify="right")
    table.add_row("paper's greedy", *(f"{ratio:.4f}" for ratio in PAPER_RATIOS.values()))
    for name, means, spread in zip(searches, measured.mean(axis=0), errors, strict=True):
        table.add_row(
            name, *(f"{mean:.4f} ±{e:.4f}" for mean, e in zip(means, spread, strict=True))
        )
    console.print(table)
