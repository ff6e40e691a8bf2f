"""Made data in which four groups of people like four groups of items."""

import numpy as np
import pytest

from variegate.data.dataset import Dataset
from variegate.model.item_table import ItemTable

GROUPS = 4
ITEMS_A_GROUP = 12
USERS_A_GROUP = 15


@pytest.fixture(scope="session")
def tastes() -> Dataset:
    """Users like 60% of their own group's items and 4% of the others'; the last item, nobody."""
    rng = np.random.default_rng(3)
    taste_of_user = np.repeat(np.arange(GROUPS), USERS_A_GROUP)
    group_of_item = np.repeat(np.arange(GROUPS), ITEMS_A_GROUP)
    chance = np.where(taste_of_user[:, None] == group_of_item[None, :], 0.6, 0.04)
    users, items = np.nonzero(rng.random(chance.shape) < chance)
    ids = (*(f"item {row}" for row in range(len(group_of_item))), "unliked")
    years = np.append(1980.0 + 10 * group_of_item, 2020.0)
    years[5] = np.nan
    genres = tuple((f"genre {group}", "film") for group in group_of_item)
    item_table = ItemTable(
        ids,
        tuple(item.title() for item in ids),
        numbers={"year": years},
        categories={"country": ("fr", "") * 24 + ("jp",)},
        lists={"genres": (*genres, ())},
        texts={"plot": ("a plot",) * len(ids)},
    )
    user_ids = tuple(f"user {row}" for row in range(len(taste_of_user)))
    return Dataset("tastes", user_ids, ids, users, items, item_table, category_column="genres")
