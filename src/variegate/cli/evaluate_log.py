"""`variegate evaluate-log`: what other policies would have earned."""

from typing import TYPE_CHECKING, Any

import click

from variegate.cli.served import of_a_service, served, settings_of

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.cli.console import Progress
    from variegate.cli.logs.evaluating import Asked, Evaluated
    from variegate.service.settings import Settings


@click.command("evaluate-log")
@of_a_service
@click.option("--log", "file", metavar="FILE", help="Lists as JSON lines, in place of a store.")
@click.option(
    "--policy",
    "policies",
    metavar="LINE",
    multiple=True,
    help="To be valued; may be repeated.  [default: those of the service]",
)
@click.option(
    "--mix", type=float, help="Share of random items in their lists.  [default: the log's]"
)
@click.option("--k", type=int, help="Length of the lists to go by.  [default: the commonest]")
@click.option(
    "--estimator",
    default="rips",
    show_default=True,
    help="rips, sips or dr (doubly robust): see docs/evaluation.md.",
)
@click.option("--self-normalised", is_flag=True, help="Steadier, and a little biased.")
@click.option("--out", metavar="FILE", help="Write the log there too, as JSON lines.")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def evaluate_log(
    store: str | None,
    catalogue: str | None,
    config: str | None,
    file: str | None,
    policies: tuple[str, ...],
    as_json: bool,
    **how: Any,
) -> None:
    """Say what other policies would have earned with the lists of a service's log.

    It needs lists with chance in them, so that every item had one: `variegate serve --mix 0.05`.
    Each policy starts anew with each user, learns from the logged lists one after another as they
    were answered, and is asked before each how likely it would have shown the same.

    \b
    Examples:
        variegate evaluate-log --policy lmdh --policy mmr
        variegate evaluate-log --store sqlite:///shop.db --catalogue shop.npz --out shown.jsonl
        variegate evaluate-log --log shown.jsonl --catalogue shop.npz --policy lmdh --mix 0
    """
    from variegate.cli.console import plain_console, progress_bar
    from variegate.cli.experiments.telling import print_json
    from variegate.cli.logs.evaluating import Asked, evaluated, plain, source_of_file
    from variegate.service.parts import catalogue_of, rules_of

    console, settings = plain_console(), settings_of(store, catalogue, config)
    asked = Asked(policies or tuple(settings.policies.values()), **how)
    with progress_bar(console, "Users") as (tell, _):
        if file is not None:
            items, rules = catalogue_of(settings), rules_of(settings)
            found = evaluated(source_of_file(file, items, rules, asked.k), asked, tell)
        else:
            found = _evaluated_store(settings, asked, tell)
    if as_json:
        print_json(plain(found))
    else:
        _print(console, found)


def _evaluated_store(settings: "Settings", asked: "Asked", tell: "Progress") -> "Evaluated":
    from variegate.cli.logs.evaluating import evaluated, source_of_store
    from variegate.service.settings_file import without_secrets

    with served(settings) as settler:
        return evaluated(source_of_store(settler, without_secrets(settings.store)), asked, tell)


def _print(console: "Console", found: "Evaluated") -> None:
    from variegate.cli.console import say
    from variegate.cli.experiments.telling import print_rows
    from variegate.cli.logs.evaluating import rows_of

    mixed = f", mixed by {' and '.join(map(str, found.chances))}" if found.chances else ""
    say(console, f"{found.lists} lists of {found.k} items for {found.users} users{mixed}")
    columns = ["a list earns", "95% interval", "effective lists"]
    print_rows(console, "policy", columns, rows_of(found))
    for value in found.values:
        for warning in value.warnings:
            say(console, f"{value.policy}: {warning}")
    for note in found.notes:
        say(console, note)
