"""`variegate doctor`: what keeps a service from working, and what to do."""

from __future__ import annotations

import click

from variegate.cli.open_store import of_a_service, settings_of
from variegate.cli.output import one_line, plain_console, say

_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red"}


@click.command()
@of_a_service
def doctor(store: str | None, catalogue: str | None, config: str | None) -> None:
    """Check a service, and say what to do.

    Settings, catalogue, store, keys, clock and disk are checked. Each line says what was found and,
    if something is wrong, what to do. The exit status is 1 if there is an error, and 0 if there are
    warnings only. The service can run meanwhile; tables of an older version are upgraded, as by
    every command.

    \b
    Examples:
        variegate doctor
        variegate doctor --store postgresql://me@db/shop --catalogue shop.npz
    """
    settings = settings_of(store, catalogue, config)
    from variegate.engine.diagnosis import diagnose

    console, has_errors = plain_console(), False
    for finding in diagnose(settings):
        has_errors |= finding.level == "error"
        advice = f": {finding.advice}" if finding.advice else ""
        line = f"{finding.level:<8} {finding.check:<10} {one_line(finding.found)}{advice}"
        say(console, line, style=_STYLES[finding.level])
    raise SystemExit(int(has_errors))
