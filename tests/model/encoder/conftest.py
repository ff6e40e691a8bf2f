"""A small shop and a table of stories, with an answer that a reader can see."""

import numpy as np
import pytest

from variegate.model.item_table import ItemTable


@pytest.fixture
def shop() -> ItemTable:
    """Six things: two for the kitchen, two for the garden, two for sport."""
    return ItemTable(
        ("pan", "pot", "rake", "spade", "ball", "bat"),
        ("Pan", "Pot", "Rake", "Spade", "Ball", "Bat"),
        numbers={"price": np.array([30.0, 40.0, 20.0, 25.0, 10.0, np.nan])},
        categories={"maker": ("Iron", "Iron", "Wood", "Wood", "Wood", "")},
        lists={
            "tags": (
                ("kitchen",),
                ("kitchen", "gift"),
                ("garden",),
                ("garden",),
                ("sport", "gift"),
                ("sport",),
            )
        },
    )


@pytest.fixture
def stories() -> ItemTable:
    """Thirty murders and thirty space journeys, in words drawn with one seed."""
    rng = np.random.default_rng(5)
    murder = ["murder", "detective", "police", "clue", "suspect", "witness", "victim"]
    space = ["space", "planet", "rocket", "alien", "crew", "orbit", "galaxy"]
    texts = [" ".join(rng.choice(murder, 5, replace=False)) for _ in range(30)]
    texts += [" ".join(rng.choice(space, 5, replace=False)) for _ in range(30)]
    ids = tuple(f"s{row}" for row in range(60))
    return ItemTable(ids, ids, texts={"plot": tuple(texts)})
