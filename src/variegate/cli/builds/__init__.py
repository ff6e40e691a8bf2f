"""`variegate build`: a catalogue file from ratings, from an item table, from anything."""

import click

from variegate.cli.builds.films import films
from variegate.cli.builds.known import KNOWN_COMMANDS
from variegate.cli.builds.ratings import ratings
from variegate.cli.builds.table import items
from variegate.cli.builds.vectors import vectors


@click.group()
def build() -> None:
    """Make a catalogue file from a SOURCE: a data set, a table, vectors, the bundled films.

    The file is written whole or not at all. Each source has options of its own, which
    `variegate build SOURCE --help` lists.

    \b
    Examples:
        variegate build films --out films.npz
        variegate build ml-100k --distance cosine --distance genres --out ml.npz
        variegate build items shop.csv --id sku --title name --list tags --out shop.npz
    """


for command in (films, *KNOWN_COMMANDS, ratings, items, vectors):
    build.add_command(command)
