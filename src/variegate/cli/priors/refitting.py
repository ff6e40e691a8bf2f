"""`variegate fit-prior --store`: what users of a service begin with, from those that it has."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.engine import Arms
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
    with served(settings) as settler:
        shelf, arms = settler.shelf, settler.arms
        with settler.store.reading() as reader:
            items = shelf.as_of(reader).catalogue
        name = policy or _only(_with_prior(arms, items))
        with console.status(f"Fitting to the users of {name}"):
            row = refit(
                settler.store,
                shelf,
                arms,
                name,
                least=settings.prior_least_users,
                now=current_time(),
            )
        with settler.store.reading() as reader:
            prior = shelf.as_of(reader).priors[name]
    say(console, f"{name}: version {row.version} of what its users begin with", style="bold")
    for line in prior.describe(items):
        say(console, f"  {one_line(line)}")
    if out is not None:
        prior.save(out)
        say(console, f"{out}: the same as a file")


def _with_prior(arms: "Arms", catalogue: "Catalogue") -> list[str]:
    """Return the policies that begin with a prior."""
    from variegate.engine.arms import prior_of

    return [name for name in arms.names if prior_of(arms.new_policy(name, catalogue)) is not None]


def _only(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    told = f"one of {', '.join(names)}" if names else "a policy with a prior: the service has none"
    raise InputError(f"`--policy` must be {told}")
