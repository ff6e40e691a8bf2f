"""`variegate fit-prior`: the prior that new users start from."""

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.build_options import (
    Training,
    catalogue_from_likes,
    check_place,
    say_saved,
    training_options,
)
from variegate.cli.open_store import served, settings_of
from variegate.cli.output import one_line, plain_console, say, size_of
from variegate.cli.replay_options import dataset_of, table_options, take_table
from variegate.errors import DataError, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.arrays import IndexArray
    from variegate.data.dataset import Dataset
    from variegate.engine import Experiment
    from variegate.evaluation.tuning import LearnerSettings, TuningResult
    from variegate.model.catalogue import Catalogue
    from variegate.prior import PriorFile


@click.command("fit-prior")
@click.argument("data", required=False)
@click.option("--catalogue", metavar="FILE", help="Fit to the features of an existing catalogue.")
@click.option("--likes", metavar="DATA", help="Likes of its items: a table, or a data set.")
@table_options
@click.option("--settings", metavar="FILE", help="Use settings saved by `variegate tune`.")
@click.option("--tune", is_flag=True, help="Tune settings by replaying some of the users.")
@click.option(
    "--users", default=200, show_default=True, help="Maximum number of users, for --tune."
)
@click.option("--workers", help="As for tune.  [default: number of cores]")
@click.option("--store", metavar="URL", help="Fit to the users in the store of a service.")
@click.option("--policy", metavar="NAME", help="Policy of the service.  [default: the only one]")
@click.option("--config", metavar="FILE", help="Settings file of the service.")
@training_options
@click.option("--out", metavar="FILE", help="File of the prior, such as prior.npz.")
@click.option(
    "--catalogue-out",
    metavar="FILE",
    help="File of its catalogue.  [default: OUT with -catalogue]",
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
    """Fit a prior of what users like, from likes.

    DATA is ml-100k, ml-1m or anime, or a table of your own (CSV, TSV, Parquet): embeddings are
    fitted to it, as by `variegate build`, for the distances between items. With --catalogue and
    --likes the distances are those of an existing catalogue. The prior belongs to the catalogue:
    it knows the items by their ids.

    The relevance of an item starts at the share of users who like it; items that the same users
    like are learnt together. Likes do not determine the weight of diversity, which has a default,
    nor the noise of a reward. With --tune both are tuned, as by `variegate tune`, and saved in
    OUT with -tuned.json. `variegate inspect` shows the prior.

    With --store the prior is fitted to the users of a service and stored there; a running service
    uses it for its next lists. At least 100 users are required (`prior_min_users`), so that the
    prior reveals no single user. --out is optional; --catalogue is the catalogue served.

    \b
    Examples:
        variegate fit-prior ml-100k --out prior.npz
        variegate fit-prior clicks.csv --user uid --item sku --tune --out prior.npz
        variegate fit-prior --catalogue shop.npz --likes clicks.csv --out prior.npz
        variegate fit-prior ml-1m --settings tuned.json --out prior.npz
        variegate fit-prior --store sqlite:///variegate.db
    """
    if store is not None:
        if data or likes or options["tune"] or options["settings"]:
            raise InputError("--store excludes DATA, --likes, --tune and --settings")
        refit_store(store, catalogue, config, policy, out)
        return
    if out is None:
        raise click.MissingParameter(param_hint="'--out'", param_type="option")
    given = _checked_source(data, catalogue, likes, options)
    if catalogue and catalogue_out:
        raise InputError("--catalogue excludes --catalogue-out: it is used as it is")
    place = check_place(out, given, catalogue, options["settings"])
    beside = Path(catalogue_out or _sibling(place, "-catalogue.npz"))
    if data:
        check_place(str(beside), given, out)
    table = take_table(options)
    how = {name: options.pop(name) for name in ("settings", "tune", "users", "workers")}
    console, training = plain_console(), Training(**options)
    with console.status(f"Reading {given}"):
        likes_of = dataset_of(given, table)
    if catalogue is None:
        source = source_from_likes(console, likes_of, training)
    else:
        source = source_from_catalogue(console, catalogue, likes_of)
    settings = _settings(console, source, training if data else None, place, **how)
    _fit_and_print(console, source, settings, place, beside)


def _checked_source(
    data: str | None, catalogue: str | None, likes: str | None, options: dict[str, Any]
) -> str:
    """Return what names the likes, or raise InputError for options that exclude each other."""
    given = data or likes
    if given is None or (data is None) == (catalogue is None) or (data and likes):
        raise InputError("give DATA, or both --catalogue and --likes")
    if options["tune"] and options["embeddings"] != "bpr":
        raise InputError("--tune excludes --embeddings als: its replays fit embeddings by bpr")
    return given


def _settings(
    console: "Console",
    source: "Source",
    training: Training | None,
    place: Path,
    *,
    settings: str | None,
    tune: bool,
    users: int,
    workers: str | None,
) -> "LearnerSettings | None":
    """Return saved or tuned settings; None for the defaults."""
    from variegate.evaluation.tuning import load_settings

    if settings is not None:
        if tune:
            raise InputError("--settings excludes --tune")
        return load_settings(settings)
    if not tune:
        return None
    chosen = tune_for(source, training, users=users, workers=workers)
    target = _sibling(place, "-tuned.json")
    chosen.save(target)
    for line in chosen.describe(max_rows=5):
        say(console, line)
    say(console, f"{target}: all settings tried\n")
    return chosen.settings


def _fit_and_print(
    console: "Console",
    source: "Source",
    settings: "LearnerSettings | None",
    place: Path,
    beside: Path,
) -> None:
    from variegate.evaluation.tuning import LearnerSettings
    from variegate.prior import fit_prior as fit

    catalogue, used = source.catalogue, settings or LearnerSettings()
    prior = fit(catalogue, source.likes, **used.prior_options)
    prior.save(place)
    show_prior(console, prior, place, catalogue)
    if source.file is None:
        catalogue.save(beside)
        say_saved(console, catalogue, beside)
    print_next(console, source.file or beside, used.policy_spec(place))


def _sibling(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.stem}{ending}")


def tune_for(
    source: "Source",
    training: Training | None,
    *,
    users: int,
    workers: str | None,
) -> "TuningResult":
    """Tune settings for the users that a prior is fitted to.

    With `training`, embeddings are fitted; without it the features of the catalogue are used.
    """
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.parallel import parse_workers
    from variegate.evaluation.progress import show_progress
    from variegate.evaluation.replay import Protocol
    from variegate.evaluation.tuning import tune

    name, count = source.data.name, parse_workers(workers)
    protocol = None
    if training:
        protocol = Protocol(
            d=training.d,
            normalise=training.normalise,
            distances=training.distances,
            most_popular=training.most_popular,
        )
    with show_progress() as show:
        return tune(
            {name: source.data},
            protocol=protocol,
            catalogues=None if training else {name: source.catalogue},
            users=users,
            seed=training.seed if training else 0,
            workers=count,
            cache=None if training and training.no_cache else cache_folder(),
            progress=show,
        )


def refit_store(
    store: str, catalogue: str | None, config: str | None, policy: str | None, out: str | None
) -> None:
    """Fit the prior of a service's policy to its users, store it and print it.

    The service can be running.
    """
    from variegate.engine.priors import refit

    console, settings = plain_console(), settings_of(store, catalogue, config)
    with served(settings) as executor:
        live, experiment = executor.live, executor.experiment
        with executor.store.reading() as reader:
            items = live.as_of(reader).catalogue
        name = policy or _only(_with_prior(experiment, items))
        with console.status(f"Fitting to the users of {name}"):
            row = refit(
                executor.store,
                live,
                experiment,
                name,
                min_users=settings.prior_min_users,
                now=time.time(),
            )
        with executor.store.reading() as reader:
            prior = live.as_of(reader).priors[name]
    _print_prior(console, f"{name}: version {row.version} of its prior", prior, items)
    if out is not None:
        prior.save(out)
        say(console, f"{out}: the same prior as a file")


def _with_prior(experiment: "Experiment", catalogue: "Catalogue") -> list[str]:
    """Return the names of the policies that start from a prior."""
    from variegate.engine.experiment import full_prior

    return [
        name
        for name in experiment.names
        if full_prior(experiment.new_policy(name, catalogue)) is not None
    ]


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    valid = f"one of {', '.join(names)}" if names else "a policy with a prior: the service has none"
    raise InputError(f"`--policy` must be {valid}")


@dataclass(frozen=True, eq=False)
class Source:
    """A catalogue and the likes of its users."""

    catalogue: "Catalogue"
    data: "Dataset"
    #: Rows that each user likes; users who like no item of the catalogue are left out
    likes: "tuple[IndexArray, ...]"
    #: The file of the catalogue, if it has one
    file: str | None = None


def source_from_likes(console: "Console", data: "Dataset", training: Training) -> Source:
    """Fit embeddings of the items to the likes."""
    from variegate.evaluation.replay import likes_as_rows

    catalogue, learnt_from = catalogue_from_likes(console, data, training)
    return Source(catalogue, learnt_from, likes_as_rows(learnt_from, catalogue.ids))


def source_from_catalogue(console: "Console", file: str, data: "Dataset") -> Source:
    """Use the features of a catalogue file."""
    from variegate.evaluation.replay import likes_as_rows
    from variegate.model.catalogue import Catalogue

    catalogue = Catalogue.load(file)
    likes = likes_as_rows(data, catalogue.ids)
    if not likes:
        raise DataError(f"{file}: none of the {len(data.item_ids):,} items of {data.name} is in it")
    found = sum(map(len, likes))
    say(
        console,
        f"{data.name}: {found:,} of {len(data):,} likes are of the {len(catalogue):,} items of "
        f"{file}, by {len(likes):,} users",
    )
    return Source(catalogue, data, likes, file)


def is_prior(file: str) -> bool:
    """Return whether a file is a prior; False for a broken file, which its reader reports."""
    import json

    from variegate.files import open_npz
    from variegate.prior.files import FORMAT

    try:
        with open_npz(file, "prior") as arrays:
            header = json.loads(arrays["header"].tobytes())
            return bool(header["format"] == f"variegate {FORMAT.name}")
    except DataError:
        return False


def inspect_prior(file: str, catalogue: str | None) -> None:
    """Print a prior, with titles if its catalogue is given."""
    from variegate.model.catalogue import Catalogue
    from variegate.prior import PriorFile

    items = None if catalogue is None else Catalogue.load(catalogue)
    show_prior(plain_console(), PriorFile.load(file), file, items)


def show_prior(
    console: "Console", prior: "PriorFile", file: str | Path, catalogue: "Catalogue | None" = None
) -> None:
    """Print the size and the contents of a prior."""
    _print_prior(console, f"{file}: {prior} ({size_of(Path(file))})", prior, catalogue)


def _print_prior(
    console: "Console", title: str, prior: "PriorFile", catalogue: "Catalogue | None"
) -> None:
    say(console, title, style="bold")
    for line in prior.describe(catalogue):
        say(console, f"  {one_line(line)}")


def print_next(console: "Console", catalogue: str | Path, line: str) -> None:
    """Print the command that serves it."""
    name = line.partition(":")[0]
    words = ["variegate", "serve", "--catalogue", str(catalogue), "--policy", f"{name}={line}"]
    say(console, f"Next: {shlex.join(words)}")
