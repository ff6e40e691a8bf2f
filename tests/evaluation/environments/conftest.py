"""One environment of each kind, small."""

from typing import Any, TypeAlias

import gymnasium
import numpy as np
import pytest

from variegate import Catalogue
from variegate.environments import REPLAY, SIMULATED

Env: TypeAlias = gymnasium.Env[Any, Any]

CATALOGUE = Catalogue(range(12), np.random.default_rng(3).uniform(-1, 1, (12, 4)), "cosine")

ARGUMENTS: dict[str, dict[str, Any]] = {
    SIMULATED: {"items": 12, "features": 4, "k": 3, "rounds": 20},
    REPLAY: {"catalogue": CATALOGUE, "likes": [[0, 3, 5], [7]], "k": 3, "rounds": 4},
}


@pytest.fixture(params=list(ARGUMENTS))
def env(request: pytest.FixtureRequest) -> Env:
    """Each registered environment, as `gymnasium.make` makes it."""
    return gymnasium.make(request.param, **ARGUMENTS[request.param])
