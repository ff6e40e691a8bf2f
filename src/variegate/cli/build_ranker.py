"""`variegate build open` and `build scored`: catalogues for requests that bring scores."""

from typing import TYPE_CHECKING

import click

from variegate.cli.build_options import check_place, out_option, save_and_say, say_saved
from variegate.cli.output import plain_console, say
from variegate.errors import InputError

if TYPE_CHECKING:
    from variegate.model.distances import Distance


@click.command("open")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="Further feature.")
@click.option(
    "--distance",
    "vectors",
    multiple=True,
    default=("cosine",),
    metavar="NAME",
    help="cosine, angular or euclidean on vectors, or none. Repeatable.  [default: cosine]",
)
@click.option("--list", "lists", multiple=True, metavar="NAME", help="Attribute with labels.")
@click.option("--category", "categories", multiple=True, metavar="NAME", help="With one label.")
@click.option(
    "--number",
    "numbers",
    multiple=True,
    metavar="NAME=SCALE",
    help="With a number; a difference of SCALE is a distance of 1.",
)
@out_option
def open_(
    features: tuple[str, ...],
    vectors: tuple[str, ...],
    lists: tuple[str, ...],
    categories: tuple[str, ...],
    numbers: tuple[str, ...],
    out: str,
) -> None:
    """Make a catalogue without items, for a ranker's candidates.

    Each request has its candidates with their scores, and what the distances need: a vector
    for those of --distance, the attribute of that name for the others. Options are repeatable.

    \b
    Examples:
        variegate build open --out ranker.npz
        variegate build open --feature freshness --list genres --number year=50 --out films.npz
    """
    from variegate.model.candidates import open_catalogue
    from variegate.model.distances import hamming, jaccard

    path, console = check_place(out), plain_console()
    distances: list[str | Distance] = [
        *(name for name in vectors if name != "none"),
        *(jaccard([], name=name) for name in lists),
        *(hamming([], name=name) for name in categories),
        *map(_number, numbers),
    ]
    catalogue = open_catalogue(features, distances)
    catalogue.save(path)
    say_saved(console, catalogue, path)
    say(console, f"Next: variegate serve --catalogue {path}")


@click.command()
@click.argument("file")
@out_option
def scored(file: str, out: str) -> None:
    """Make a catalogue from another, with the feature `score`.

    The scores of a request's candidates fill it.

    \b
    Example:
        variegate build scored shop.npz --out ranked-shop.npz
    """
    from variegate.model.catalogue import Catalogue

    path, console = check_place(out, file), plain_console()
    save_and_say(console, Catalogue.load(file).with_score(), path)


def _number(text: str) -> "Distance":
    from variegate.model.distances import difference

    name, _equals, scale = text.partition("=")
    try:
        return difference([], scale=float(scale), name=name)
    except ValueError:  # an InputError is one
        raise InputError(
            f"`--number` must read NAME=SCALE with a scale above 0, got {text!r}"
        ) from None
