"""`variegate fit-prior --store`: what users of a service begin with, from those that it has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.engine import Experiment
    from variegate.model.catalogue import Catalogue


def refit_store(
    store: str, catalogue: str | None, config: str | None, policy: str | None, out: str | None
) -> None:
    """Fit the prior of a service's policy to its users, keep it in its store and say what it is.

    It can run all the while: its next lists begin with the new one.
    """
    from variegate.cli.console import one_line, plain_console, say
    from variegate.cli.served import served, settings_of
    from variegate.engine.packing import current_time
    from variegate.engine.refitting import refit

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
                least=settings.prior_least_users,
                now=current_time(),
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
    from variegate.engine.experiment import prior_of

    return [
        name
        for name in experiment.names
        if prior_of(experiment.new_policy(name, catalogue)) is not None
    ]


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    told = f"one of {', '.join(names)}" if names else "a policy with a prior: the service has none"
    raise InputError(f"`--policy` must be {told}")
