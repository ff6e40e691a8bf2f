"""`variegate screenshots`: pictures of every view of the page."""

import tempfile
from pathlib import Path
from typing import Final

import click

#: Policies of the users that were there before, so that the A/B report has something to compare.
_BEFORE: Final = {"lmdp": "lmdp", "mmr": "mmr"}


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for them.")
@click.option("--catalogue", metavar="FILE", help="Of `variegate build`.  [default: the films]")
def screenshots(out: Path, catalogue: str | None) -> None:
    """Take pictures of the page: every view, light and dark, wide and narrow.

    A service is started on a store of its own, a person with a clear taste plays some rounds in
    a real browser (chromium, driven by playwright), and simulated users fill the hour before.

    \b
    Example:
        variegate screenshots --out pictures
    """
    from variegate.cli.pictures.browsing import browser, found_browser
    from variegate.cli.pictures.past import fill
    from variegate.cli.pictures.serving import serving
    from variegate.cli.pictures.taking import take
    from variegate.cli.serve import check_installed

    check_installed()
    found_browser()  # before anything is made
    from variegate.service.parts import catalogue_of
    from variegate.service.settings import Settings
    from variegate.store import Store

    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="variegate-") as folder:
        url = f"sqlite:///{folder}/pictures.db"
        with Store.open(url) as store:
            fill(store, catalogue_of(Settings(store=url, catalogue=catalogue)), _BEFORE)
        flags = ["--store", url, *(["--catalogue", catalogue] if catalogue else [])]
        with serving(flags) as service, browser() as opened:
            for path in take(opened, service.address, out):
                click.echo(path)
