"""What the package offers at its door."""

import re
from importlib.metadata import version
from types import MappingProxyType

import pytest

import variegate
from variegate import client, data, demo, errors, evaluation, kernels, policies
from variegate.evaluation import offpolicy
from variegate.model.distances import FORMULAS

MODULES = [variegate, client, data, demo, evaluation, offpolicy, errors, kernels, policies]
#: Those whose names are written down in `__all__`
LISTED = [errors, kernels, policies]


def ruffs_order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest; each by the alphabet, numbers by value."""
    key = re.sub(r"\d+", lambda digits: digits[0].zfill(9), name)
    if name.isupper() and len(name) > 1:
        return 0, key
    return (1, key) if name[:1].isupper() else (2, key)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_name_that_is_promised_is_there(module: object) -> None:
    promised = module.__all__  # type: ignore[attr-defined]

    assert promised
    assert [name for name in promised if not hasattr(module, name)] == []
    assert set(promised) <= set(dir(module))


@pytest.mark.parametrize("module", LISTED, ids=lambda module: module.__name__)
def test_names_are_in_order(module: object) -> None:
    promised = module.__all__  # type: ignore[attr-defined]

    assert promised == sorted(promised, key=ruffs_order)
    assert len(set(promised)) == len(promised)


def test_the_contract_names_are_public() -> None:
    contract = """
        Catalogue Slate Utility Preferences Confidence distances diversify SEARCHES Shortlist
        Recommender Policy POLICIES make_policy Dial Explanation State EASE
        Prior ItemPrior fit_prior default_prior add_popularity_feature
        load_movielens_100k load_movielens_1m load_anime load_table fit_bpr evaluate Simulation
        VariegateError __version__
    """

    assert set(contract.split()) <= set(variegate.__all__)
    assert set(variegate.__all__) <= set(dir(variegate))
    assert len(set(variegate.__all__)) == len(variegate.__all__)


def test_every_policy_class_is_public() -> None:
    catalogue = variegate.Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")

    classes = {type(variegate.make_policy(name, catalogue)) for name in variegate.POLICIES}

    assert all(getattr(variegate, policy.__name__) is policy for policy in classes)


def test_the_version_is_that_of_the_distribution() -> None:
    assert version("variegate") == variegate.__version__


def test_registries_are_for_reading_only() -> None:
    assert isinstance(variegate.POLICIES, MappingProxyType)
    assert isinstance(variegate.SEARCHES, MappingProxyType)
    assert isinstance(FORMULAS, MappingProxyType)


def test_the_registry_holds_the_paper_and_its_relatives() -> None:
    assert set(variegate.POLICIES) == {
        "lmdp",
        "lmdt",
        "lmdh",
        "lmdh-greedy",
        "logrank",
        "ease",
        "mmr",
        "epsilon-greedy",
        "c2ucb",
        "dc2b",
        "lsb",
        "linucb",
        "comblinucb",
        "comblints",
        "uniform",
        "popular",
    }


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.InputError, ValueError),
        (errors.DataError, ValueError),
        (errors.StateError, ValueError),
        (errors.NotFoundError, LookupError),
        (errors.ConflictError, ValueError),
        (errors.StoreError, RuntimeError),
        (errors.OutcomeUnknownError, errors.StoreError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_each_error_is_ours_and_the_builtin_one_expects(
    error: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(error, errors.VariegateError)
    assert issubclass(error, builtin)
