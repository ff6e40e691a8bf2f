"""What the contracts share: each policy of the registry in turn."""

from functools import partial

import pytest

from tests.policies.making import Make, catalogue_of
from variegate import POLICIES, Catalogue, make_policy


@pytest.fixture(params=list(POLICIES))
def name(request: pytest.FixtureRequest) -> str:
    """Each name in the registry."""
    return str(request.param)


@pytest.fixture
def make(name: str) -> Make:
    """What makes a new policy of that name."""
    return partial(make_policy, name)


@pytest.fixture
def catalogue() -> Catalogue:
    """Twelve items with four features and the cosine distance."""
    return catalogue_of(1)
