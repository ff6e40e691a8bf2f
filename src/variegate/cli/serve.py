"""`variegate serve`: the HTTP service."""

import gc
import os
import re
import sys
import webbrowser
from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any, Final

import click

from variegate.cli.output import import_from_working_directory
from variegate.errors import InputError, MissingExtraError

#: Packages of the extra `service`
_NEEDED: Final = (
    "fastapi",
    "uvicorn",
    "pydantic",
    "prometheus_client",
    "fastapi_offline",
)


@click.command()
@click.option("--catalogue", metavar="FILE", help="Catalogue file.  [default: bundled films]")
@click.option(
    "--store",
    metavar="URL",
    help="sqlite:///FILE or postgresql://...  [default: variegate.db in this folder]",
)
@click.option("--host", help="Address to bind.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="Port; 0 picks a free one.  [default: 8000]")
@click.option("--workers", type=int, help="Worker processes.  [default: 1]")
@click.option("--config", metavar="FILE", help="Settings file, as printed by --print-config.")
@click.option(
    "--policy",
    "policies",
    metavar="[NAME=]SPEC",
    multiple=True,
    help="Policy spec with an optional name; repeat for an A/B test.  [default: lmdp]",
)
@click.option("--split", metavar="NAME=WEIGHT", multiple=True, help="Share of users for a policy.")
@click.option("--k", type=int, help="Default number of items per list.")
@click.option("--mix", type=float, help="Share of random items in lists, from 0 to 1.")
@click.option("--seed", type=int, help="Random seed.")
@click.option("--rate", type=float, help="Maximum requests per second per client.")
@click.option("--cors-origins", metavar="ORIGIN,...", help="Origins allowed by CORS.")
@click.option("--image-origins", metavar="ORIGIN,...", help="Origins of images on the page.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="json or text.")
@click.option(
    "--traces", is_flag=True, default=None, help="Send OpenTelemetry traces; see OTEL_* variables."
)
@click.option(
    "--allow-anonymous",
    is_flag=True,
    default=None,
    help="Allow requests without a key from other machines while no key exists.",
)
@click.option(
    "--replace-configuration",
    is_flag=True,
    default=None,
    help="Replace the configuration of running replicas, which then stop writing.",
)
@click.option("--page/--no-page", default=None, help="Serve the demo page.  [default: page]")
@click.option("--documentation", metavar="FOLDER", help="Serve the site of `make docs` too.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--print-config", is_flag=True, help="Print all settings as TOML and exit.")
def serve(config: str | None, print_config: bool, opens: bool, **given: Any) -> None:
    """Serve recommendations and feedback over HTTP.

    The default policy is lmdp, the package's own learner; --policy lmdh serves the paper's.

    Settings come from options, environment variables (VARIEGATE_PORT=8080), the file given by
    --config or VARIEGATE_CONFIG, and defaults, in this order; --print-config shows them all. The
    service accepts requests from this machine only, unless keys exist: see `variegate keys`.

    \b
    Examples:
        variegate serve
        variegate serve --catalogue shop.npz --store sqlite:///shop.db --port 8080
        variegate serve --policy lmdh:ridge=1
        variegate serve --policy a=lmdp --policy b=mmr --split a=9 --split b=1
        variegate serve --print-config > service.toml
    """
    check_installed()
    gc.disable()  # until the service has started
    from variegate.engine.settings import load_settings, settings_as_toml
    from variegate.service.run import serve as run

    import_from_working_directory()
    settings = load_settings(_flags(given), config=config)
    if print_config:
        click.echo(settings_as_toml(settings), nl=False)
        return
    run(settings, announce=_announce_and_open if opens else _announce)


def check_installed() -> None:
    """Raise MissingExtraError unless the packages of the service are installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"the service needs {', '.join(missing)}: pip install 'variegate[service]'"
        )


def _flags(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings given as options."""
    flags = {name: value for name, value in given.items() if value not in (None, ())}
    for name in ("policies", "split"):
        if name in flags:
            flags[name] = _pairs(name, flags[name])
    return flags


def _pairs(name: str, texts: Iterable[str]) -> dict[str, str]:
    from variegate.arrays import check_choice
    from variegate.policies import POLICIES

    pairs: dict[str, str] = {}
    flag, form = ("policy", "NAME=SPEC") if name == "policies" else ("split", "NAME=WEIGHT")
    for text in texts:
        pair = _named(text) if flag == "policy" else text
        own, equals, value = pair.partition("=")
        # In "module:Class:option=1" the first equals sign belongs to an option.
        if not (equals and value) or ":" in own:
            if flag == "policy" and text.isidentifier():
                check_choice("--policy", text, POLICIES)
            raise InputError(f"`--{flag}` must read {form}, got {text!r}")
        if own.strip() in pairs:
            raise InputError(f"`--{flag}` must name each policy once, got {own!r} twice")
        pairs[own.strip()] = value.strip()
    return pairs


def _named(text: str) -> str:
    """Return NAME=SPEC, also for a spec alone, which has the name of its policy."""
    from variegate.engine.experiment import default_spec
    from variegate.policies import POLICIES

    name = text.partition(":")[0]
    return f"{name}={default_spec(text)}" if name in POLICIES else text


def _announce_and_open(line: str) -> None:
    _announce(line)
    address = re.search(r"https?://\S+", line)
    if address and _has_display():
        webbrowser.open(address.group())


def _has_display() -> bool:
    """Whether a graphical browser can open; a text browser would take over the terminal."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _announce(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()
