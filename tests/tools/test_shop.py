"""The made-up shop, and what is measured with it."""

from pathlib import Path

from tools.shop.new_items import measure
from tools.shop.products import write_shop


def test_new_products_get_their_share_of_positions() -> None:
    found = measure(0)

    assert 0.5 * found.proportional <= found.shown <= 2.0 * found.proportional


def test_same_seed_writes_the_same_shop(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_shop(tmp_path / folder, products=20, new=3, users=5, seed=1)

    for name in ("products.csv", "new-products.csv", "likes.csv"):
        one, two = ((tmp_path / folder / name).read_text() for folder in ("one", "two"))
        assert one == two
    assert (tmp_path / "one" / "products.csv").read_text().count("\n") == 21
