"""`variegate evaluate-log`: off-policy evaluation of the log of a service."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.open_store import of_a_service, served, settings_of
from variegate.cli.output import plain_console, print_json, print_rows, progress_bar, say
from variegate.errors import InputError
from variegate.evaluation import offpolicy

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.engine.settings import Settings


@click.command("evaluate-log")
@of_a_service
@click.option(
    "--log",
    "file",
    metavar="FILE",
    help="Read a log instead of a store: JSON lines, or a .csv file of the Open Bandit Dataset.",
)
@click.option(
    "--policy",
    "policies",
    metavar="SPEC",
    multiple=True,
    help="Policy to evaluate; repeatable.  [default: those of the service]",
)
@click.option(
    "--mix", type=float, help="Share of random items in their lists.  [default: as logged]"
)
@click.option(
    "--k", type=int, help="Length of the lists to evaluate.  [default: the most frequent]"
)
@click.option(
    "--estimator",
    default="rips",
    show_default=True,
    help="rips, sips, dr (doubly robust) or pi (pseudo-inverse): see docs/how-to/evaluation.md.",
)
@click.option(
    "--self-normalised",
    is_flag=True,
    help="Divide by the sum of the weights: less variance, some bias.",
)
@click.option("--out", metavar="FILE", help="Also write the log to this file, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def evaluate_log(
    store: str | None,
    catalogue: str | None,
    config: str | None,
    file: str | None,
    policies: tuple[str, ...],
    out: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Estimate the reward of other policies from a log.

    The log is that of a service, or a file. It must contain lists with random exploration:
    `variegate serve --mix 0.05`. Each policy starts without data for each user and learns from the
    logged feedback in order. For each logged list, its probability under the policy is computed
    with the same candidates and dial.

    \b
    Examples:
        variegate evaluate-log --policy lmdh --policy mmr
        variegate evaluate-log --store sqlite:///shop.db --catalogue shop.npz --out shown.jsonl
        variegate evaluate-log --log shown.jsonl --catalogue shop.npz --policy lmdh --mix 0
        variegate evaluate-log --log random/men/men.csv --catalogue men.npz --policy lmdh
    """
    console, settings = plain_console(), settings_of(store, catalogue, config)
    how["policies"] = policies or tuple(settings.policies.values())
    with progress_bar("Users") as (tell, _), _source(settings, file, how["k"]) as source:
        found = _evaluate(source, out, progress=tell, **how)
    if as_json:
        print_json(found.as_json())
    else:
        _print(console, found)


@contextmanager
def _source(
    settings: "Settings", file: str | None, k: int | None
) -> "Iterator[offpolicy.LogSource]":
    """Yield the log of the file, or of the store of the service."""
    from variegate.engine.factory import load_catalogue
    from variegate.engine.log_reader import log_source
    from variegate.engine.settings import mask_password
    from variegate.policies import parse_policy

    if file is None:
        with served(settings) as executor:
            yield log_source(executor, mask_password(settings.store))
        return
    items = load_catalogue(settings)
    if Path(file).suffix == ".csv":
        logs = offpolicy.user_logs(offpolicy.read_open_bandit(file, items), items)
    else:
        logs = offpolicy.user_logs(offpolicy.read_log(file, items, k=k), items)
    logging = {name: parse_policy(line) for name, line in settings.policies.items()}
    yield offpolicy.LogSource(file, lambda: iter(logs), logging)


def _evaluate(
    source: "offpolicy.LogSource", out: str | None, **how: Any
) -> "offpolicy.LogEvaluation":
    """Evaluate the log, and write it to `out` as JSON lines, atomically."""
    from variegate.files import atomic_write

    if out is None:
        return offpolicy.evaluate_log(source, **how)
    with atomic_write(out, private=True) as lines:

        def write(log: "offpolicy.UserLog", logged: "offpolicy.LoggedSlate") -> None:
            if any(isinstance(step, offpolicy.RelevanceUpdate) for step in log.steps):
                raise InputError(
                    f"`out`: a log file has lists only, and user {log.user!r} was taught by "
                    "interactions outside lists too: evaluate the store itself, without --out"
                )
            lines.write(offpolicy.slate_line(logged, log.user).encode() + b"\n")

        return offpolicy.evaluate_log(source, on_slate=write, **how)


def _print(console: "Console", found: "offpolicy.LogEvaluation") -> None:
    mixes = f", mix {' and '.join(map(str, found.mixes))}" if found.mixes else ""
    say(console, f"{found.lists} lists of {found.k} items for {found.users} users{mixes}")
    columns = ["reward per list", "95% interval", "effective sample size"]
    rows = {"the log itself": _cells(found.logged, found.logged.effective_sample_size)}
    rows |= {one.policy: _cells(one.estimate, one.effective_sample_size) for one in found.values}
    print_rows(console, "policy", columns, rows)
    for value in found.values:
        for warning in value.warnings:
            say(console, f"{value.policy}: {warning}")
    for note in found.notes:
        say(console, note)


def _cells(estimate: "offpolicy.Estimate | None", size: float | None) -> list[str]:
    if estimate is None:
        return ["?", "", ""]
    low, high = estimate.interval
    return [
        f"{estimate.value:.3f}",
        f"{low:.3f} to {high:.3f}",
        "" if size is None else f"{size:.0f}",
    ]
