"""`variegate build ml-100k`, `ml-1m` and `anime`: the paper's data sets."""

from typing import Any, Final

import click

from variegate.cli.builds.saving import check_place, out_option
from variegate.cli.builds.training import Training, build_from_likes, training_options

#: As `variegate.data.registry.DATASETS` has them, which --help need not wait for
NAMES: Final = ("ml-100k", "ml-1m", "anime")
_HELP: Final = """Make a catalogue of {name}, on vectors learnt from who liked what.

    The vectors are learnt by Bayesian personalised ranking (BPR) from all users, unless
    --train says otherwise, and are kept so that the same training is not done twice. The
    distances can be on these vectors (cosine, angular, euclidean){others}.

    \b
    Examples:
        variegate build {name} --out {name}.npz
        variegate build {name} {example} \\
            --out {name}.npz
"""
_FILMS: Final = (
    ", by genres, or by years",
    "--distance cosine --distance genres --distance years",
)
_ANIME: Final = (", or by genres", "--train 0.8 --most-popular 1000")


def _command_for(name: str) -> click.Command:
    others, example = _ANIME if name == "anime" else _FILMS

    @click.command(name, help=_HELP.format(name=name, others=others, example=example))
    @click.option(
        "--path", metavar="PATH", help="Its zip or folder.  [default: found in the data folder]"
    )
    @training_options
    @out_option
    def build_known(path: str | None, out: str, **options: Any) -> None:
        from variegate.cli.console import plain_console
        from variegate.data.registry import DATASETS, find

        target, console = check_place(out, path), plain_console()
        source = find(name) if path is None else path
        with console.status(f"Reading {source}"):
            data = DATASETS[name].load(source)
        build_from_likes(console, data, Training(**options), target)

    return build_known


KNOWN_COMMANDS = tuple(map(_command_for, NAMES))
