"""The parts of an engine that settings describe: catalogue, policies, rules, replica, store."""

import sys
from typing import Any, Final, cast

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.codecs import check_id
from variegate.engine.executor import Executor, Observe
from variegate.engine.experiment import Experiment
from variegate.engine.replicas import Replica, shared_configuration
from variegate.engine.settings import Settings
from variegate.errors import DataError, InputError
from variegate.model.catalogue import Catalogue
from variegate.policies.warmup import warm_policy
from variegate.store import Store

#: The share of `timeout_seconds` for one statement, so that a request which waits for a
#: connection, opens one and sends a statement is answered in time.
_STATEMENT_SHARE: Final = 0.4


def load_catalogue(settings: Settings) -> Catalogue:
    """Return the catalogue of the settings, or the bundled films."""
    if settings.catalogue is None:
        from variegate.data.films import film_catalogue

        return film_catalogue()
    catalogue = Catalogue.load(settings.catalogue)
    for item in catalogue.ids:  # an id that no request could contain
        try:
            check_id("id", item)
        except InputError as error:
            raise DataError(f"{settings.catalogue}: {error}") from None
    return catalogue


def create_experiment(settings: Settings) -> Experiment:
    """Return the policies of the settings."""
    return Experiment(settings.policies, settings.split, settings.seed)


def create_replica(settings: Settings, store: Store) -> Replica:
    """Return this process as one of those that write to the store."""
    configuration = shared_configuration(create_experiment(settings), settings)
    return Replica(store, configuration, replace=settings.replace_configuration)


def open_store(settings: Settings, observe: Observe) -> Store:
    """Return the store of the settings, with their deadlines; `observe` counts its failures."""
    return Store.open(
        settings.store,
        timeout=_STATEMENT_SHARE * settings.timeout_seconds,
        count=lambda kind: observe(f"store_error {kind}", 1),
    )


def create_executor(
    settings: Settings,
    catalogue: Catalogue,
    store: Store,
    observe: Observe,
    replica: Replica | None = None,
) -> Executor:
    """Return the executor of the settings; the store is bound to the catalogue."""
    live, experiment = LiveCatalogue.open(catalogue, store), create_experiment(settings)
    return Executor(store, live, experiment, settings, observe=observe, replica=replica)


def warm_policies(settings: Settings, catalogue: Catalogue) -> None:
    """Let every policy make a list, so that no user waits for the compiler."""
    _import_numba()
    experiment = create_experiment(settings)
    for name in experiment.names:
        warm_policy(experiment.new_policy(name, catalogue))


def _import_numba() -> None:
    """Import numba without SciPy's linear algebra.

    numba looks there for functions that no loop uses. The import would take 11 MB in each process
    that computes lists; what needs it later can still import it.
    """
    name = "scipy.linalg"
    if name in sys.modules:
        return
    cast(dict[str, Any], sys.modules)[name] = None  # makes its import fail
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[name]
