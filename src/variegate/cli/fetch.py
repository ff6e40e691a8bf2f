"""`variegate fetch`: a data set from its publisher."""

import click


@click.command()
@click.argument("name")
@click.option("--to", metavar="FOLDER", help="Keep it there.  [default: the user's data folder]")
@click.option("--url", help="A mirror, if not the publisher's own.")
def fetch(name: str, to: str | None, url: str | None) -> None:
    """Download the data set NAME from its publisher, unless it is there.

    NAME is ml-100k, ml-1m or anime. What comes is kept only if the files inside are the ones
    expected; a download that broke off goes on where it was. The environment variable
    VARIEGATE_DATA names another data folder. Anime stands behind a login: the command says
    where to get it and where to put it.

    \b
    Examples:
        variegate fetch ml-100k
        variegate fetch ml-1m --to data
    """
    from variegate.cli.console import plain_console, progress_bar, say, size_of
    from variegate.data.registry import DATASETS
    from variegate.data.registry import fetch as fetched

    console = plain_console()
    with progress_bar(console, f"Fetching {name}", in_bytes=True) as (progress, received):
        path = fetched(name, folder=to, url=url, progress=progress)
    size = f" ({size_of(path)})" if path.is_file() else ""
    say(console, f"{name} is {'now' if received else 'already'} at {path}{size}")
    say(console, "Its licence's main terms:")
    for term in DATASETS[name].licence:
        say(console, f"  - {term}")
    say(console, f"More on it: {DATASETS[name].page}", style="dim")
    next_word = name if to is None else str(path)
    say(console, f"Next: variegate stats {next_word}")
