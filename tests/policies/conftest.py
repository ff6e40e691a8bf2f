"""What the contracts share: each policy of the registry in turn."""

from functools import partial

import pytest

from tests.policies.making import NAMES, Make, catalogue_of, make_named
from variegate import Catalogue


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each name in the registry, and LMDP with a prior of items."""
    return str(request.param)


@pytest.fixture
def make(name: str) -> Make:
    """What makes a new policy of that name."""
    return partial(make_named, name)


@pytest.fixture
def catalogue() -> Catalogue:
    """Twelve items with four features and the cosine distance."""
    return catalogue_of(1)
