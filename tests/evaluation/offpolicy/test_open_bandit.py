"""Logs in the format of the Open Bandit Dataset, from small files made by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import run
from tests.extras import needs
from tests.paths import FIXTURES
from variegate import Catalogue
from variegate.errors import DataError
from variegate.evaluation.offpolicy import read_open_bandit

LOG, ITEMS = FIXTURES / "open-bandit" / "men.csv", FIXTURES / "open-bandit" / "item_context.csv"

pytestmark = needs("polars")


@pytest.fixture
def items() -> Catalogue:
    """Three items in another order than in the file."""
    return Catalogue(["2", "1", "0"], np.eye(3), "cosine")


def test_each_impression_is_a_list_of_one(items: Catalogue) -> None:
    log = read_open_bandit(LOG, items)

    assert log.items.tolist() == [[2], [1], [0], [2]]
    assert log.rewards.ravel().tolist() == [1, 0, 0, 1]
    assert log.propensities.ravel().tolist() == [0.5, 0.25, 0.25, 0.5]
    assert log.users == ("a b c d", "a b c d", "a b c e", "a b c e")


def test_one_position_can_be_chosen(items: Catalogue) -> None:
    assert read_open_bandit(LOG, items, position=1).items.tolist() == [[2], [0]]

    with pytest.raises(DataError, match=r"men\.csv: has no impressions at position 4"):
        read_open_bandit(LOG, items, position=4)


def test_items_of_another_campaign_are_named() -> None:
    other = Catalogue(["0", "1"], np.eye(2), "cosine")

    with pytest.raises(
        DataError, match="item '2' is not in the catalogue: build it from the item_"
    ):
        read_open_bandit(LOG, other)


def test_the_command_estimates_what_a_fixed_policy_earns(tmp_path: Path) -> None:
    catalogue = tmp_path / "men.npz"
    columns = ("--number", "item_feature_0", "--category", "item_feature_1")
    run("build", "items", ITEMS, "--id", "item_id", *columns, "--out", catalogue)

    words = ("evaluate-log", "--log", LOG, "--catalogue", catalogue, "--json")
    found = json.loads(run(*words, "--policy", "popular:popularity=[3,2,1]", "--mix", 0))

    # It always shows item 0, which was clicked both times, with probability 1/2: (2 + 2) / 4.
    assert found["logged"]["value"] == pytest.approx(0.5)
    (value,) = found["policies"].values()
    assert value["value"] == pytest.approx(1.0)
