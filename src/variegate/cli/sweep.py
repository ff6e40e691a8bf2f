"""`variegate sweep`: a policy at a grid of settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.output import (
    ERRORS,
    plain,
    plain_console,
    print_json,
    print_left_out,
    print_measure,
    result_table,
    say,
    write_out,
)
from variegate.cli.replay_options import (
    MOST_ITEMS,
    dataset_of,
    extent_of,
    policies_of,
    replayed,
    replaying,
    take_table,
)
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.evaluation.metrics import Scores


@click.command()
@replaying
@click.option("--policy", default="lmdh", show_default=True, help="Policy to vary.")
@click.option(
    "--vary",
    "varied",
    multiple=True,
    required=True,
    help="An option and its values: ridge=0.1,1,50. Repeat for all combinations.",
)
def sweep(
    data: str,
    policy: str,
    varied: tuple[str, ...],
    **options: Any,
) -> None:
    """Replay a policy at all combinations of some settings.

    `k` can be varied too: k=5,10,15.

    \b
    Examples:
        variegate sweep ml-100k --vary ridge=0.1,1,50 --vary exploration=0,1,2
        variegate sweep ml-100k --policy lmdh --vary normaliser=none,fixed,growing --vary k=5,10
        variegate sweep ml-100k --policy lmdp:prior=fit --vary floor=0,0.3,1 --out floors.csv
    """
    table, extent = take_table(options), extent_of(options)
    values = dict(_parsed(text) for text in varied)
    lengths = [_length(value) for value in values.pop("k", [])] or [extent.k]
    specs = policies_of(_spec(policy, values, chosen) for chosen in product(*values.values()))
    dataset = dataset_of(data, table)
    found = {k: replayed(dataset, specs, replace(extent, k=k)) for k in lengths}
    write_out(extent, lambda: result_table(f"{policy} on {data}", _named(found)))
    if extent.as_json:
        print_json(
            [
                {"policy": name, "k": k, **plain(splits)}
                for k, scores in found.items()
                for name, splits in scores.items()
            ]
        )
        return
    console = plain_console()
    print_left_out(console, next(iter(found[lengths[0]].values())))
    say(console, ERRORS)
    for k, scores in found.items():
        say(console, f"{policy}, lists of {k}")
        rows = {name.removeprefix(policy).lstrip(":,") or policy: scores[name] for name in scores}
        for measure in ("F1", "recall", "diversity"):
            print_measure(console, rows, measure, extent.rounds)


def _named(
    found: "Mapping[int, Mapping[str, Sequence[Scores]]]",
) -> "dict[str, Sequence[Scores]]":
    """Return the scores by policy, with the length of the list if there are several."""
    return {
        f"{name}, k={k}" if len(found) > 1 else name: splits
        for k, scores in found.items()
        for name, splits in scores.items()
    }


def _parsed(text: str) -> tuple[str, list[str]]:
    from variegate.policies.registry import split_values

    name, _, values = text.partition("=")
    chosen = list(dict.fromkeys(split_values(values)))
    if not (name.strip() and chosen):
        raise InputError(f"`--vary` must read option=value,value,..., got {text!r}")
    return name.strip(), chosen


def _length(value: str) -> int:
    from variegate.arrays import check_count

    if not value.isdecimal():
        raise InputError(f"`k` must be a whole number, got {value!r}")
    return check_count(int(value), MOST_ITEMS, of="the most that make sense")


def _spec(policy: str, names: Iterable[str], values: tuple[str, ...]) -> str:
    options = ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    if not options:
        return policy
    return f"{policy},{options}" if "=" in policy else f"{policy}:{options}"
