"""`variegate serve`: a catalogue and its policies behind HTTP."""

import os
import re
import sys
import webbrowser
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

import click

#: Of the extra `service`.
_NEEDED: Final = (
    "fastapi",
    "uvicorn",
    "sqlalchemy",
    "pydantic_settings",
    "prometheus_client",
    "fastapi_offline",
)


@click.command()
@click.option("--catalogue", metavar="FILE", help="Of `variegate build`.  [default: the films]")
@click.option(
    "--store",
    metavar="URL",
    help="sqlite:///FILE or postgresql://...  [default: variegate.db in this folder]",
)
@click.option("--host", help="Address to listen at.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port to listen at; 0: any free one.  [default: 8000]")
@click.option("--workers", type=int, help="Processes that answer.  [default: 1]")
@click.option("--config", metavar="FILE", help="Settings, as --print-config prints them.")
@click.option(
    "--policy",
    "policies",
    metavar="[NAME=]LINE",
    multiple=True,
    help="A policy, by a name of yours; again for an A/B test.  [default: lmdp]",
)
@click.option(
    "--split", metavar="NAME=WEIGHT", multiple=True, help="How many of the users a policy gets."
)
@click.option("--k", type=int, help="Items in a list, where a request does not say.")
@click.option("--mix", type=float, help="Share of random items in lists, from 0 to 1.")
@click.option("--seed", type=int, help="Same seed, same split of users.")
@click.option("--rate", type=float, help="Requests a second that each client may make.")
@click.option("--cors-origins", metavar="ORIGIN,...", help="Web pages that may call the service.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="json or text.")
@click.option(
    "--allow-anonymous",
    is_flag=True,
    default=None,
    help="Let everybody in while no key was made, even beyond this machine.",
)
@click.option(
    "--replace-configuration",
    is_flag=True,
    default=None,
    help="Start with other settings than the replicas that run, which then stop writing.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser, if there is one.")
@click.option("--print-config", is_flag=True, help="Print all settings as a file, and end.")
def serve(config: str | None, print_config: bool, opens: bool, **given: Any) -> None:
    """Answer over HTTP: lists for users, feedback, and what was learnt.

    Without a word it serves the package's own learner, lmdp; --policy lmdh serves the paper's.

    Settings come from flags, then from the environment (VARIEGATE_PORT=8080), then from the
    file of --config or VARIEGATE_CONFIG, then from defaults; --print-config shows them all. It
    listens to this machine alone, unless there are keys: see `variegate keys`.

    \b
    Examples:
        variegate serve
        variegate serve --catalogue shop.npz --store sqlite:///shop.db --port 8080
        variegate serve --policy lmdh
        variegate serve --policy a=lmdp --policy b=mmr --split a=9 --split b=1
        variegate serve --print-config > service.toml
    """
    check_installed()
    from variegate.engine.settings import load_settings, settings_as_toml
    from variegate.service.run import serve as run

    look_for_modules_here()
    settings = load_settings(_flags(given), config=config)
    if print_config:
        click.echo(settings_as_toml(settings), nl=False)
        return
    run(settings, announce=_announce_and_open if opens else _announce)


def look_for_modules_here() -> None:
    """Let Python find modules of this folder, as the installed command does not by itself.

    A policy may be a class of one's own.
    """
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)


def check_installed() -> None:
    """Raise MissingExtraError unless the parts that the service is made of are there."""
    from variegate.errors import MissingExtraError

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"the service needs {', '.join(missing)}: pip install 'variegate[service]'"
        )


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were said."""
    flags = {name: value for name, value in given.items() if value not in (None, ())}
    for name in ("policies", "split"):
        if name in flags:
            flags[name] = _pairs(name, flags[name])
    return flags


def _pairs(name: str, texts: Iterable[str]) -> dict[str, str]:
    from variegate.errors import InputError

    pairs: dict[str, str] = {}
    flag, form = ("policy", "NAME=LINE") if name == "policies" else ("split", "NAME=WEIGHT")
    for text in texts:
        said = _named(text) if flag == "policy" else text
        own, equals, value = said.partition("=")
        # "lmdh:ridge=1" is a line without a name: its first sign of equality is an option's.
        if not (equals and value) or ":" in own:
            raise InputError(f"`--{flag}` must read {form}, got {text!r}")
        if own.strip() in pairs:
            raise InputError(f"`--{flag}` must name each policy once, got {own!r} twice")
        pairs[own.strip()] = value.strip()
    return pairs


def _named(text: str) -> str:
    """Return NAME=LINE, also for the name of a policy alone."""
    from variegate.engine.experiment import default_spec
    from variegate.policies import POLICIES

    return f"{text}={default_spec(text)}" if text in POLICIES else text


def _announce_and_open(line: str) -> None:
    _announce(line)
    address = re.search(r"https?://\S+", line)
    if address and _has_display():
        webbrowser.open(address.group())


def _has_display() -> bool:
    """Whether a browser would have a window: one for terminals would take this terminal over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _announce(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()
