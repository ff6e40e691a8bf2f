"""Thompson sampling behind the service: lists with propensities, by the library's own call."""

from zlib import crc32

import numpy as np
import pytest

from tests.engine.shop import Shop
from variegate import Dial
from variegate.policies import explore_slate
from variegate.store import Store

THOMPSON = {"thompson": "lmdt:exploration=1"}


@pytest.mark.parametrize("dial", [None, Dial(2.0)])
def test_propensities_are_logged_and_agree_with_the_library(
    store: Store, dial: Dial | None
) -> None:
    shop = Shop(store, THOMPSON, mix=0.3, seed=11)
    policy = shop.experiment.new_policy("thompson", shop.items)
    rng = np.random.default_rng((11, crc32(b"ann"), 0))
    slate, propensities = explore_slate(policy, 4, 0.3, rng=rng, dial=dial)

    row = shop.slate(shop.give(dial=dial)["slate_id"])

    assert (row.items, row.propensities) == (slate.ids, propensities.tolist())


def test_without_a_mix_it_draws_and_logs_nothing(store: Store) -> None:
    shop = Shop(store, THOMPSON)
    rng = np.random.default_rng((shop.rules.seed, crc32(b"ann"), 0))
    slate = shop.experiment.new_policy("thompson", shop.items).recommend(4, rng=rng)

    row = shop.slate(shop.give()["slate_id"])

    assert (row.items, row.propensities) == (slate.ids, None)


def test_it_learns_from_mixed_lists(store: Store) -> None:
    shop = Shop(store, THOMPSON, mix=0.5)
    before = shop.experiment.new_policy("thompson", shop.items).state()

    shop.click()

    assert shop.experiment.policy_of(shop.user(), shop.items).state() != before
