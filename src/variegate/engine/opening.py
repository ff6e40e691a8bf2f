"""What the settings describe, without HTTP: the catalogue, the policies, the rules."""

from collections.abc import Callable
from typing import Final

from variegate.engine import Experiment, Rules
from variegate.engine.codecs import check_id
from variegate.engine.replicas import Replica, configuration_of
from variegate.engine.settings import Settings
from variegate.errors import DataError, InputError
from variegate.model.catalogue import Catalogue
from variegate.policies.warmup import warm_policy
from variegate.store import Store

#: The part of `timeout_seconds` that one statement may take, so that a request which waits for a
#: connection, makes one and sends a statement is answered in time.
_STATEMENT_SHARE: Final = 0.4


def catalogue_of(settings: Settings) -> Catalogue:
    """Return the catalogue of the settings, or the bundled films."""
    if settings.catalogue is not None:
        catalogue = Catalogue.load(settings.catalogue)
        _check_ids(settings.catalogue, catalogue)
        return catalogue
    from variegate.data.films import film_catalogue

    return film_catalogue()


def _check_ids(path: str, catalogue: Catalogue) -> None:
    """Raise DataError for an item that no request could name."""
    for item in catalogue.ids:
        try:
            check_id("id", item)
        except InputError as error:
            raise DataError(f"{path}: {error}") from None


def experiment_of(settings: Settings) -> Experiment:
    """Return the policies of the settings."""
    return Experiment(settings.policies, settings.split, settings.seed)


def rules_of(settings: Settings) -> Rules:
    """Return how lists are given and feedback is taken."""
    names = Rules.__dataclass_fields__
    return Rules(**{name: getattr(settings, name) for name in names})


def replica_of(settings: Settings, store: Store) -> Replica:
    """Return this process as one of those that write to the store."""
    configuration = configuration_of(experiment_of(settings), rules_of(settings))
    return Replica(store, configuration, replace=settings.replace_configuration)


def warm_policies(experiment: Experiment, catalogue: Catalogue) -> None:
    """Let every policy make a list, so that no user waits for the compiler."""
    for name in experiment.names:
        warm_policy(experiment.new_policy(name, catalogue))


def open_store(settings: Settings, observe: Callable[[str, float], None]) -> Store:
    """Return the store of the settings, with their deadlines; `observe` counts its failures."""
    return Store.open(
        settings.store,
        timeout=_STATEMENT_SHARE * settings.timeout_seconds,
        count=lambda kind: observe(f"store_error {kind}", 1),
    )
