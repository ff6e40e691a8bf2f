"""``python -m tools.screenshots``: take screenshots of every view of the page."""

import tempfile
from pathlib import Path
from typing import Final

import click

from tools.screenshots.browser import find_chromium, open_browser
from tools.screenshots.service import Service
from tools.screenshots.simulated_users import simulate_hour
from tools.screenshots.take import take_screenshots
from variegate.engine.factory import load_catalogue
from variegate.engine.settings import Settings
from variegate.errors import VariegateError
from variegate.store import Store

#: Policies of the simulated users: the A/B report needs two to compare.
_POLICIES: Final = {"lmdp": "lmdp", "mmr": "mmr"}


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder for the images."
)
@click.option("--catalogue", metavar="FILE", help="From `variegate build`.  [default: the films]")
def main(out: Path, catalogue: str | None) -> None:
    """Take screenshots of the page: every view, light and dark, desktop and phone.

    Starts a service with a temporary store and one hour of simulated users, answers some lists
    in a real browser (chromium, driven by playwright), then opens each view.

    \b
    Example:
        python -m tools.screenshots --out docs/pictures/page
    """
    try:
        find_chromium()  # fail before anything is created
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="variegate-") as folder:
            url = f"sqlite:///{folder}/screenshots.db"
            with Store.open(url) as store:
                items = load_catalogue(Settings(store=url, catalogue=catalogue))
                simulate_hour(store, items, _POLICIES)
            flags = ["--store", url, *(["--catalogue", catalogue] if catalogue else [])]
            with Service(*flags) as service, open_browser() as browser:
                for path in take_screenshots(browser, service.address, out):
                    click.echo(path)
    except VariegateError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
