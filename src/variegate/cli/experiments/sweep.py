"""`variegate sweep`: a policy at many settings."""

from itertools import product
from typing import Any

import click

from variegate.cli.experiments.options import (
    dataset_of,
    extent_of,
    replayed,
    replaying,
    shown_rounds,
)


@click.command()
@replaying
@click.option("--policy", default="lmdh", show_default=True, help="What to vary.")
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    help="An option and its values: ridge=0.1,1,50. Repeat for every combination.",
)
def sweep(
    data: str,
    user: str,
    item: str,
    rating: str | None,
    above: float | None,
    policy: str,
    varied: tuple[str, ...],
    **options: Any,
) -> None:
    """Replay a policy at every combination of some settings.

    `k` can be varied as well: k=5,10,15.

    \b
    Examples:
        variegate sweep ml-100k --vary ridge=0.1,1,50 --vary exploration=0,1,2
        variegate sweep ml-100k --policy lmdh --vary normaliser=none,fixed,growing --vary k=5,10
    """
    from dataclasses import replace

    from variegate.cli.console import plain_console, plain_table
    from variegate.evaluation.comparing import mean_measure

    extent = extent_of(options)
    values = [_parsed(text) for text in varied]
    lengths = [int(v) for name, vs in values if name == "k" for v in vs] or [extent.k]
    others = [(name, vs) for name, vs in values if name != "k"]
    specs = [
        _spec(policy, [name for name, _ in others], chosen)
        for chosen in product(*(vs for _, vs in others))
    ]
    dataset = dataset_of(data, user, item, rating, above)
    columns = [f"{m} t={t}" for m in ("F1", "recall") for t in shown_rounds(extent.rounds)]
    table = plain_table("policy", "K", *columns, right=("K", *columns))
    for k in lengths:
        scores = replayed(dataset, specs, replace(extent, k=k))
        for spec in specs:
            cells = [
                f"{mean_measure(scores[spec], measure)[t - 1]:.3f}"
                for measure in ("F1", "recall")
                for t in shown_rounds(extent.rounds)
            ]
            table.add_row(spec, str(k), *cells)
    plain_console().print(table)


def _parsed(text: str) -> tuple[str, list[str]]:
    from variegate.errors import InputError

    name, equals, values = text.partition("=")
    chosen = [value for value in values.split(",") if value]
    if not (name and equals and chosen):
        raise InputError(f"`--vary` must read option=value,value,..., got {text!r}")
    if name == "k" and not all(value.isdigit() for value in chosen):
        raise InputError(f"`--vary` k must be whole numbers, got {values!r}")
    return name, chosen


def _spec(policy: str, names: list[str], values: tuple[str, ...]) -> str:
    options = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    if not options:
        return policy
    return f"{policy},{options}" if "=" in policy else f"{policy}:{options}"
