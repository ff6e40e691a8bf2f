"""`variegate fit-prior`: what most users like and how they differ, for those who are new."""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from variegate.cli.build_options import Training, check_place, training_options
from variegate.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.arrays import IndexArray
    from variegate.cli.build_options import Training
    from variegate.data.dataset import Dataset
    from variegate.engine import Experiment
    from variegate.evaluation.tuning_result import LearnerSettings, TuningResult
    from variegate.model.catalogue import Catalogue
    from variegate.prior import Prior


@click.command("fit-prior")
@click.argument("data", required=False)
@click.option("--catalogue", metavar="FILE", help="Fit to the features of a catalogue, instead.")
@click.option("--likes", metavar="DATA", help="Who liked what of it: a table, or a data set.")
@click.option("--user", default="user", help="Column of users, for your own table.")
@click.option("--item", default="item", help="Column of items, for your own table.")
@click.option("--rating", help="Column of ratings, if the table has one.")
@click.option("--threshold", type=float, help="A rating above this is a like.")
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
    with it, also if it runs. They must be a hundred at least (`prior_min_users`), so that no
    one is shown. --out is not needed then; --catalogue is the service's.

    \b
    Examples:
        variegate fit-prior ml-100k --out prior.npz
        variegate fit-prior clicks.csv --user uid --item sku --choose --out prior.npz
        variegate fit-prior --catalogue shop.npz --likes clicks.csv --out prior.npz
        variegate fit-prior ml-1m --settings chosen.json --out prior.npz
        variegate fit-prior --store sqlite:///variegate.db
    """
    from variegate.cli.output import plain_console

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
    table = [options.pop(name) for name in ("user", "item", "rating", "threshold")]
    how = {name: options.pop(name) for name in ("settings", "choose", "users", "workers")}
    console, training = plain_console(), Training(**options)
    source = _source(console, given, table, catalogue, training)
    settings = _settings(console, source, training if data else None, place, **how)
    _fit_and_say(console, source, settings, place, beside)


def _source(
    console: "Console", given: str, table: list[Any], catalogue: str | None, training: Training
) -> "Source":
    from variegate.cli.replay_options import dataset_of

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
    from variegate.cli.output import say
    from variegate.evaluation.tuning_result import TuningResult

    if settings is not None:
        if choose:
            raise InputError("give --settings or --choose, not both")
        return TuningResult.load(settings).settings
    if not choose:
        return None
    chosen = chosen_for(console, source, training, users=users, workers=workers)
    target = _beside(place, "-chosen.json")
    chosen.save(target)
    for line in chosen.describe(max_rows=5):
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
    from variegate.cli.build_options import say_saved
    from variegate.evaluation.tuning_result import LearnerSettings
    from variegate.prior import fit_prior as fit

    catalogue = source.add_collaborative_features()
    used = settings or LearnerSettings()
    prior = fit(catalogue, source.likes, **used.prior_options(catalogue.m))
    prior.save(place)
    show_prior(console, prior, place, catalogue)
    catalogue.save(beside)
    say_saved(console, catalogue, beside)
    say_next(console, beside, used.policy_spec(place) if settings else f"lmdp:prior={place}")


def _beside(place: Path, ending: str) -> Path:
    return place.with_name(f"{place.stem}{ending}")


@contextmanager
def bars(console: "Console") -> Iterator[Callable[[str, int, int], None]]:
    """Give a function to tell what is being done, and how much of it is done, of how much."""
    from variegate.cli.output import Progress, progress_bar

    shown: dict[str, Progress] = {}
    with ExitStack() as drawn:

        def tell(doing: str, done: int, of: int) -> None:
            if doing not in shown:
                drawn.close()  # two bars cannot be drawn at once
                shown.clear()
                shown[doing], _ = drawn.enter_context(progress_bar(console, doing))
            shown[doing](done, of)

        yield tell


def checked_workers(workers: int | None) -> int:
    """Return how many processes are asked for, or raise InputError."""
    from variegate.arrays import check_count
    from variegate.evaluation.parallel import default_workers

    if workers is None:
        return default_workers()
    return check_count(workers, 10_000, name="workers", of="the most that make sense")


def chosen_for(
    console: "Console",
    source: "Source",
    training: "Training | None",
    *,
    users: int,
    workers: int | None,
) -> "TuningResult":
    """Choose settings for the users that a prior is fitted to.

    `training` says how vectors are learnt; without it the catalogue's features stay.
    """
    from variegate.data.bpr import cache_folder
    from variegate.evaluation.replay import Protocol
    from variegate.evaluation.tuning import tune

    name, count = source.data.name, checked_workers(workers)
    protocol = None
    if training:
        protocol = Protocol(
            d=training.d,
            normalise=training.normalise,
            distances=training.distances,
            most_popular=training.most_popular,
        )
    with bars(console) as tell:
        return tune(
            {name: source.data},
            protocol=protocol,
            catalogues=None if training else {name: source.catalogue},
            users=users,
            seed=training.seed if training else 0,
            workers=count,
            cache=None if training and training.no_cache else cache_folder(),
            progress=tell,
        )


def refit_store(
    store: str, catalogue: str | None, config: str | None, policy: str | None, out: str | None
) -> None:
    """Fit the prior of a service's policy to its users, keep it in its store and say what it is.

    It can run all the while: its next lists begin with the new one.
    """
    from variegate.cli.open_store import served, settings_of
    from variegate.cli.output import one_line, plain_console, say
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
                least=settings.prior_min_users,
                now=time.time(),
            )
        with executor.store.reading() as reader:
            prior = live.as_of(reader).priors[name]
    say(console, f"{name}: version {row.version} of what its users begin with", style="bold")
    for line in prior.describe(items):
        say(console, f"  {one_line(line)}")
    if out is not None:
        prior.save(out)
        say(console, f"{out}: the same as a file")


def _with_prior(experiment: "Experiment", catalogue: "Catalogue") -> list[str]:
    """Return the policies that begin with a prior."""
    from variegate.engine.experiment import full_prior

    return [
        name
        for name in experiment.names
        if full_prior(experiment.new_policy(name, catalogue)) is not None
    ]


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    told = f"one of {', '.join(names)}" if names else "a policy with a prior: the service has none"
    raise InputError(f"`--policy` must be {told}")


@dataclass(frozen=True, eq=False)
class Source:
    """A catalogue before its items had what the crowd tells, and the likes of its users."""

    catalogue: "Catalogue"
    data: "Dataset"
    #: Rows that each user likes; users who like no item of the catalogue are left out
    likes: "tuple[IndexArray, ...]"

    def add_collaborative_features(self) -> "Catalogue":
        """Return the catalogue with popularity and tastes, which it may have already."""
        from variegate.prior import add_collaborative_features

        return add_collaborative_features(self.catalogue, self.likes)


def source_from_likes(console: "Console", data: "Dataset", training: "Training") -> Source:
    """Learn vectors of the items from who liked what."""
    from variegate.cli.build_options import catalogue_from_likes
    from variegate.evaluation.replay import likes_as_rows

    catalogue, learnt_from = catalogue_from_likes(console, data, training)
    return Source(catalogue, learnt_from, likes_as_rows(learnt_from, catalogue.ids))


def source_from_catalogue(console: "Console", file: str, data: "Dataset") -> Source:
    """Take the features that a catalogue has."""
    from variegate.cli.output import say
    from variegate.errors import DataError
    from variegate.evaluation.replay import likes_as_rows
    from variegate.model.catalogue import Catalogue

    catalogue = Catalogue.load(file)
    likes = likes_as_rows(data, catalogue.ids)
    if not likes:
        raise DataError(
            f"{file}: none of the {len(data.item_ids):,} items that {data.name} tells of is in it"
        )
    found = sum(map(len, likes))
    say(
        console,
        f"{data.name}: {found:,} of {len(data):,} likes are of the {len(catalogue):,} items of "
        f"{file}, by {len(likes):,} users",
    )
    return Source(catalogue, data, likes)


def is_prior(file: str) -> bool:
    """Return whether a file is a prior; whatever is wrong with it is for its reader to say."""
    import json

    from variegate.errors import DataError
    from variegate.files import open_npz
    from variegate.prior.prior import FORMAT

    try:
        with open_npz(file, "prior") as arrays:
            return bool(json.loads(arrays["header"].tobytes())["format"] == FORMAT)
    except DataError:
        return False


def inspect_prior(file: str, catalogue: str | None) -> None:
    """Print what a prior's file says, by titles where the catalogue is given."""
    from variegate.cli.output import plain_console
    from variegate.model.catalogue import Catalogue
    from variegate.prior import Prior

    items = None if catalogue is None else Catalogue.load(catalogue)
    show_prior(plain_console(), Prior.load(file), file, items)


def show_prior(
    console: "Console", prior: "Prior", file: str | Path, catalogue: "Catalogue | None" = None
) -> None:
    """Print how large a prior is and what it says."""
    from variegate.cli.output import one_line, say, size_of

    names = ", ".join(prior.distances) or "none"
    say(
        console,
        f"{file}: a prior over {prior.d} features, distances: {names} ({size_of(Path(file))})",
        style="bold",
    )
    for line in prior.describe(catalogue):
        say(console, f"  {one_line(line)}")


def say_next(console: "Console", catalogue: str | Path, line: str) -> None:
    """Say how to serve with it."""
    from variegate.cli.output import say

    words = ["variegate", "serve", "--catalogue", str(catalogue), "--policy", f"lmdp={line}"]
    say(console, f"Next: {shlex.join(words)}")
