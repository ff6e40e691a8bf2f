"""`variegate fit-prior`: what most users like and how they differ, for those who are new."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.builds.saving import check_place
from variegate.cli.builds.training import Training, training_options
from variegate.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.cli.priors.sources import Source
    from variegate.evaluation.choosing import LearnerSettings


@click.command("fit-prior")
@click.argument("data", required=False)
@click.option("--catalogue", metavar="FILE", help="Fit to the features of a catalogue, instead.")
@click.option("--likes", metavar="DATA", help="Who liked what of it: a table, or a data set.")
@click.option("--user", default="user", help="Column of users, for your own table.")
@click.option("--item", default="item", help="Column of items, for your own table.")
@click.option("--rating", help="Column of ratings, if the table has one.")
@click.option("--above", type=float, help="A rating above this is a like.")
@click.option("--settings", metavar="FILE", help="Use settings that `variegate choose` saved.")
@click.option("--choose", is_flag=True, help="Choose settings by replaying some of the users.")
@click.option("--users", default=200, show_default=True, help="At most so many, for --choose.")
@click.option("--workers", type=int, help="Processes for --choose; as many as cores by default.")
@click.option("--store", metavar="URL", help="Fit to the users of a service, by its store.")
@click.option("--policy", metavar="NAME", help="Which of its policies.  [default: the only one]")
@click.option("--config", metavar="FILE", help="Settings of the service.")
@training_options
@click.option("--out", metavar="FILE", help="The prior's file, such as prior.npz.")
@click.option(
    "--catalogue-out",
    metavar="FILE",
    help="The file of the catalogue that it belongs to.  [default: OUT with -catalogue]",
)
def fit_prior(
    data: str | None,
    catalogue: str | None,
    likes: str | None,
    out: str | None,
    catalogue_out: str | None,
    store: str | None,
    policy: str | None,
    config: str | None,
    **options: Any,
) -> None:
    """Fit what is believed of a user before the first list: a prior, from who liked what.

    DATA is ml-100k, ml-1m or anime, or a table of your own (CSV, TSV, Parquet): vectors are
    learnt from it, as by `variegate build`. With --catalogue and --likes the features are
    those of a catalogue that you have. Items get their popularity and the crowd's tastes as
    more features, so the prior belongs to the catalogue that is written beside it.

    What likes tell is fitted by marginal likelihood: what most users like, how they differ,
    and the noise. They tell nothing of variety, so that has a default. With --choose it is
    chosen, as `variegate choose` does, and kept in OUT with -chosen.json. `variegate inspect`
    shows the prior again.

    With --store it is fitted to the users of a service, and kept there: its next lists begin
    with it, also if it runs. They must be a hundred at least (`prior_least_users`), so that no
    one is shown. --out is not needed then; --catalogue is the service's.

    \b
    Examples:
        variegate fit-prior ml-100k --out prior.npz
        variegate fit-prior clicks.csv --user uid --item sku --choose --out prior.npz
        variegate fit-prior --catalogue shop.npz --likes clicks.csv --out prior.npz
        variegate fit-prior ml-1m --settings chosen.json --out prior.npz
        variegate fit-prior --store sqlite:///variegate.db
    """
    from variegate.cli.console import plain_console
    from variegate.cli.priors.refitting import refit_store

    if store is not None:
        if data or likes or options["choose"] or options["settings"]:
            raise InputError("give --store, or DATA and what goes with it, not both")
        refit_store(store, catalogue, config, policy, out)
        return
    if out is None:
        raise click.MissingParameter(param_hint="'--out'", param_type="option")
    given = data or likes
    if given is None or (data is None) == (catalogue is None) or (data and likes):
        raise InputError("give DATA, or both --catalogue and --likes")
    place = check_place(out, given, catalogue, options["settings"])
    beside = check_place(
        catalogue_out or str(_beside(place, "-catalogue.npz")), given, catalogue, out
    )
    table = [options.pop(name) for name in ("user", "item", "rating", "above")]
    how = {name: options.pop(name) for name in ("settings", "choose", "users", "workers")}
    console, training = plain_console(), Training(**options)
    source = _source(console, given, table, catalogue, training)
    settings = _settings(console, source, training if data else None, place, **how)
    _fit_and_say(console, source, settings, place, beside)


def _source(
    console: "Console", given: str, table: list[Any], catalogue: str | None, training: Training
) -> "Source":
    from variegate.cli.experiments.options import dataset_of
    from variegate.cli.priors.sources import source_from_catalogue, source_from_likes

    with console.status(f"Reading {given}"):
        data = dataset_of(given, *table)
    if catalogue is None:
        return source_from_likes(console, data, training)
    return source_from_catalogue(console, catalogue, data)


def _settings(
    console: "Console",
    source: "Source",
    training: Training | None,
    place: Path,
    *,
    settings: str | None,
    choose: bool,
    users: int,
    workers: int | None,
) -> "LearnerSettings | None":
    """Return the settings that were saved or are chosen now; None for the defaults."""
    from variegate.cli.console import say
    from variegate.cli.priors.choosing import chosen_for
    from variegate.evaluation.choosing import Chosen

    if settings is not None:
        if choose:
            raise InputError("give --settings or --choose, not both")
        return Chosen.load(settings).settings
    if not choose:
        return None
    chosen = chosen_for(console, source, training, users=users, workers=workers)
    target = _beside(place, "-chosen.json")
    chosen.save(target)
    for line in chosen.describe(most=5):
        say(console, line)
    say(console, f"{target}: all that was tried\n")
    return chosen.settings


def _fit_and_say(
    console: "Console",
    source: "Source",
    settings: "LearnerSettings | None",
    place: Path,
    beside: Path,
) -> None:
    from variegate.cli.builds.saving import say_saved
    from variegate.cli.priors.telling import say_next, show_prior
    from variegate.evaluation.choosing import LearnerSettings
    from variegate.prior import fit_prior as fit

    catalogue = source.add_collaborative_features()
    used = settings or LearnerSettings()
    prior = fit(catalogue, source.likes, **used.prior_options(catalogue.m))
    prior.save(place)
    show_prior(console, prior, place, catalogue)
    catalogue.save(beside)
    say_saved(console, catalogue, beside)
    say_next(console, beside, used.policy_line(place) if settings else f"lmdp:prior={place}")


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.stem}{ending}")
