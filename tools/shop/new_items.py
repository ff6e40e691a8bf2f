"""`python -m tools.shop.new_items`: how often products that are added at run time are shown.

A shop of 500 products with a prior that was fitted to the likes of 400 users gets 50 products by
their attributes. New users then ask for lists of ten, and click what they like, until 1,000
positions are filled.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
import numpy as np

from tools.shop.products import Product, like_probabilities, make_likes, make_products
from variegate.data import content_catalogue
from variegate.engine import Experiment, Feedback, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor
from variegate.engine.items import UpsertItems
from variegate.model.catalogue import Catalogue
from variegate.model.item_table import ItemTable
from variegate.prior import fit_prior
from variegate.store import Store

POSITIONS: Final = 1000
LISTS: Final = 5


class Counts(NamedTuple):
    """Positions of new products of 1,000, and those that new products would get by their number."""

    shown: int
    proportional: float
    #: Clicks per position, on new products and on the others
    click_rate_new: float
    click_rate_old: float


def measure(seed: int, *, products: int = 500, new: int = 50, users: int = 400) -> Counts:
    """Return how often new products are shown."""
    rng = np.random.default_rng(seed)
    old = make_products(products, rng=rng)
    likes = make_likes(old, users, rng=rng)
    more = make_products(new, rng=rng, first=products + 1)
    catalogue = as_catalogue(old)
    with tempfile.TemporaryDirectory() as folder:
        prior = Path(folder, "prior.npz")
        fit_prior(catalogue, likes).save(prior)
        with Store.open(f"sqlite:///{folder}/store.db") as store:
            live = LiveCatalogue.open(catalogue, store)
            experiment = Experiment({"lmdp": f"lmdp:prior={prior}"})
            executor = Executor(store, live, experiment, Rules())
            _answer(executor, UpsertItems([as_item(one) for one in more]))
            return _play(executor, [*old, *more], products, rng)


def as_catalogue(products: list[Product]) -> Catalogue:
    """Return products as a catalogue with an encoder."""
    return content_catalogue(
        ItemTable(
            tuple(one.sku for one in products),
            tuple(one.name for one in products),
            {"price": np.array([one.price for one in products])},
            {
                "category": tuple(one.category for one in products),
                "brand": tuple(one.brand for one in products),
            },
            {"tags": tuple(one.tags for one in products)},
        )
    )


def as_item(product: Product) -> dict[str, Any]:
    """Return a product as a request has it: by its attributes."""
    attributes = {
        "price": product.price,
        "category": product.category,
        "brand": product.brand,
        "tags": list(product.tags),
    }
    return {"id": product.sku, "title": product.name, "attributes": attributes}


def _play(
    executor: Executor, products: list[Product], known: int, rng: np.random.Generator
) -> Counts:
    row_of = {one.sku: row for row, one in enumerate(products)}
    # Clicks and positions, of old and of new products
    clicks, shown = np.zeros(2), np.zeros(2)
    user = -1
    while shown.sum() < POSITIONS:
        user += 1
        chances = like_probabilities(products, rng=rng)
        liked = rng.random(len(products)) < chances
        for _ in range(LISTS):
            given = _answer(executor, RecommendRequest(f"user {user}"))
            rows = np.array([row_of[item["id"]] for item in given["items"]])
            rewards = {item["id"]: float(liked[row_of[item["id"]]]) for item in given["items"]}
            _answer(executor, Feedback(given["slate_id"], rewards))
            for is_new in (0, 1):
                of_kind = rows[(rows >= known) == is_new]
                shown[is_new] += len(of_kind)
                clicks[is_new] += liked[of_kind].sum()
    old_rate, new_rate = (clicks / np.maximum(shown, 1)).tolist()
    share = (len(products) - known) / len(products)
    return Counts(int(shown[1]), float(shown.sum() * share), new_rate, old_rate)


def _answer(executor: Executor, command: object) -> dict[str, Any]:
    (outcome,) = executor([command])
    if isinstance(outcome, Exception):
        raise outcome
    answer: dict[str, Any] = outcome
    return answer


def main() -> None:
    """Print the counts of some shops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shops", type=int, default=10, help="number of shops, one per seed")
    found = [measure(seed) for seed in range(parser.parse_args().shops)]
    for seed, one in enumerate(found):
        click.echo(
            f"shop {seed}: {one.shown} of 1,000 positions, {one.proportional:.0f} by their number; "
            f"clicks per position {one.click_rate_new:.3f} on new products, "
            f"{one.click_rate_old:.3f} on the others"
        )
    ratios = [one.shown / one.proportional for one in found]
    click.echo(f"share relative to their number: {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
