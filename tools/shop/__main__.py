"""`python -m tools.shop --out shop` writes products.csv, new-products.csv and likes.csv.

The same seed writes the same files.
"""

import argparse
from pathlib import Path

import click

from tools.shop.products import write_shop


def main() -> None:
    """Write a shop to a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("shop"), help="folder to write to")
    parser.add_argument("--products", type=int, default=500)
    parser.add_argument("--new", type=int, default=50)
    parser.add_argument("--users", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write_shop(
        given.out, products=given.products, new=given.new, users=given.users, seed=given.seed
    )
    click.echo(
        f"{given.out}: {given.products} products, {given.new} new ones, likes of {given.users}"
    )


if __name__ == "__main__":
    main()
