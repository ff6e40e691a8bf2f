"""`variegate build films`: the films that install with the package."""

import click

from variegate.cli.builds.saving import check_place, out_option, save_and_say


@click.command()
@click.option("--films", "count", default=1500, show_default=True, help="How many, best known.")
@out_option
def films(count: int, out: str) -> None:
    """Make a catalogue of the bundled films: no download, no ratings.

    Facts of Wikidata (CC0) on films of 1940 to 2014, with distances by all features, by
    genres, by years and by countries.

    \b
    Example:
        variegate build films --out films.npz
    """
    from variegate.cli.console import plain_console
    from variegate.data.films import film_catalogue

    path, console = check_place(out), plain_console()
    with console.status("Choosing films"):
        catalogue = film_catalogue(films=count)
    save_and_say(console, catalogue, path)
