"""A made-up shop: products, and users whose taste depends on what a product is."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from variegate.arrays import FloatArray, IndexArray

#: Category: a usual price, kinds of product and tags
CATEGORIES: Final = {
    "lamps": (60, ("desk lamp", "floor lamp", "lantern"), ("light", "office", "evening")),
    "chairs": (120, ("armchair", "stool", "rocking chair"), ("seat", "office", "wood")),
    "kitchen": (35, ("kettle", "pan", "knife set"), ("cooking", "steel", "gift")),
    "garden": (45, ("spade", "bird house", "planter"), ("outdoors", "spring", "wood")),
    "toys": (25, ("puzzle", "wooden train", "kite"), ("children", "gift", "wood")),
    "books": (18, ("atlas", "cookbook", "novel"), ("reading", "gift", "evening")),
    "audio": (150, ("headphones", "radio", "speaker"), ("music", "electric", "office")),
    "sports": (70, ("rope", "racket", "yoga mat"), ("outdoors", "training", "spring")),
    "bath": (30, ("towel", "soap dish", "mirror"), ("cotton", "evening", "gift")),
    "bags": (80, ("backpack", "tote bag", "suitcase"), ("travel", "office", "cotton")),
}
BRANDS: Final = ("Alder", "Birk", "Cove", "Dune", "Elm", "Fjord", "Grove", "Haven", "Isle", "Juno")
COLUMNS: Final = ("sku", "name", "category", "brand", "price", "tags", "image", "stock")


@dataclass(frozen=True)
class Product:
    """One product, and how good it is beyond what its columns say."""

    sku: str
    name: str
    category: str
    brand: str
    price: float
    tags: tuple[str, ...]
    stock: int
    quality: float

    def row(self) -> list[object]:
        """Return the product as a line of the table."""
        image = f"/images/{self.sku}.svg"
        tags = "|".join(self.tags)
        return [
            self.sku,
            self.name,
            self.category,
            self.brand,
            f"{self.price:.2f}",
            tags,
            image,
            self.stock,
        ]


def make_products(count: int, *, rng: np.random.Generator, first: int = 1) -> list[Product]:
    """Return products of all categories."""
    products = []
    for number in range(first, first + count):
        category = str(rng.choice(list(CATEGORIES)))
        usual, kinds, tags = CATEGORIES[category]
        brand, kind = str(rng.choice(BRANDS)), str(rng.choice(kinds))
        chosen = tuple(sorted(map(str, rng.choice(tags, rng.integers(1, 3), replace=False))))
        price = round(usual * float(np.exp(rng.normal(0.0, 0.5))), 2)
        quality, stock = float(rng.normal()), int(rng.integers(0, 200))
        name = f"{brand} {kind}"
        products.append(
            Product(f"p{number:05}", name, category, brand, price, chosen, stock, quality)
        )
    return products


def like_probabilities(products: Sequence[Product], *, rng: np.random.Generator) -> FloatArray:
    """Return the probability that a random user likes each product."""
    categories = dict(zip(CATEGORIES, rng.normal(0.0, 1.5, len(CATEGORIES)), strict=True))
    brands = dict(zip(BRANDS, rng.normal(0.0, 0.5, len(BRANDS)), strict=True))
    expensive = rng.normal()
    strengths = [
        categories[one.category]
        + brands[one.brand]
        + 0.5 * expensive * np.log(one.price / CATEGORIES[one.category][0])
        + 0.7 * one.quality
        for one in products
    ]
    return np.asarray(1.0 / (1.0 + np.exp(4.0 - np.array(strengths))))


def make_likes(
    products: Sequence[Product], users: int, *, rng: np.random.Generator
) -> list[IndexArray]:
    """Return the rows of the products that each of some users likes, at least one of them."""
    likes = []
    for _ in range(users):
        chances = like_probabilities(products, rng=rng)
        liked = np.flatnonzero(rng.random(len(products)) < chances)
        likes.append(liked if len(liked) else np.array([int(chances.argmax())]))
    return likes


def write_shop(folder: Path, *, products: int, new: int, users: int, seed: int) -> None:
    """Write the tables of a shop."""
    rng = np.random.default_rng(seed)
    old = make_products(products, rng=rng)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "products.csv", COLUMNS, (one.row() for one in old))
    more = make_products(new, rng=rng, first=products + 1)
    _write(folder / "new-products.csv", COLUMNS, (one.row() for one in more))
    likes = make_likes(old, users, rng=rng)
    rows = ((f"u{user}", old[row].sku) for user, liked in enumerate(likes, 1) for row in liked)
    _write(folder / "likes.csv", ("user", "sku"), rows)


def _write(path: Path, header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
