"""The `variegate` command line."""

from typing import Final

import click

from variegate.cli.backup import backup, restore
from variegate.cli.build import build
from variegate.cli.compare import compare
from variegate.cli.datasets import fetch, stats
from variegate.cli.doctor import doctor
from variegate.cli.evaluate_log import evaluate_log
from variegate.cli.fit_prior import fit_prior
from variegate.cli.import_interactions import import_interactions
from variegate.cli.inspect import inspect
from variegate.cli.items import items
from variegate.cli.keys import keys
from variegate.cli.output import Commands, Sections
from variegate.cli.plan import plan
from variegate.cli.prepare import prepare
from variegate.cli.prune import prune
from variegate.cli.rebuild import rebuild
from variegate.cli.recommend_all import recommend_all
from variegate.cli.replay import replay
from variegate.cli.serve import serve
from variegate.cli.simulate import ratios, simulate
from variegate.cli.sweep import sweep
from variegate.cli.try_ import try_
from variegate.cli.tune import tune

SECTIONS: Final[Sections] = {
    "Service": (try_, serve, keys, items, import_interactions, doctor),
    "Operation": (backup, restore, rebuild, prune, plan),
    "Data": (fetch, stats, prepare, build, inspect, fit_prior, recommend_all),
    "Evaluation": (simulate, replay, compare, sweep, tune, ratios, evaluate_log),
}


@click.group(
    cls=Commands, sections=SECTIONS, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="variegate")
def commands() -> None:
    """Recommendations that learn what each user likes, and how varied a list they want.

    \b
    Start here:
        variegate try      pick films in the terminal, and watch what is learnt
        variegate serve    the same as a page and an HTTP API, at http://127.0.0.1:8000
    """
