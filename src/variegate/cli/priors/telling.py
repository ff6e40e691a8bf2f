"""A prior, and the settings chosen with it, told to a person."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from variegate.model.catalogue import Catalogue
    from variegate.prior import Prior


def is_prior(file: str) -> bool:
    """Return whether a file is a prior; whatever is wrong with it is for its reader to say."""
    import json

    from variegate.errors import DataError
    from variegate.files import open_npz
    from variegate.prior.prior import FORMAT

    try:
        with open_npz(file, "prior") as arrays:
            return bool(json.loads(arrays["header"].tobytes())["format"] == FORMAT)
    except DataError:
        return False


def inspect_prior(file: str, catalogue: str | None) -> None:
    """Print what a prior's file says, by titles where the catalogue is given."""
    from variegate.cli.console import plain_console
    from variegate.model.catalogue import Catalogue
    from variegate.prior import Prior

    items = None if catalogue is None else Catalogue.load(catalogue)
    show_prior(plain_console(), Prior.load(file), file, items)


def show_prior(
    console: "Console", prior: "Prior", file: str | Path, catalogue: "Catalogue | None" = None
) -> None:
    """Print how large a prior is and what it says."""
    from variegate.cli.console import one_line, say, size_of

    names = ", ".join(prior.distances) or "none"
    say(
        console,
        f"{file}: a prior over {prior.d} features, distances: {names} ({size_of(Path(file))})",
        style="bold",
    )
    for line in prior.describe(catalogue):
        say(console, f"  {one_line(line)}")


def say_next(console: "Console", catalogue: str | Path, line: str) -> None:
    """Say how to serve with it."""
    from variegate.cli.console import say

    words = ["variegate", "serve", "--catalogue", str(catalogue), "--policy", f"lmdp={line}"]
    say(console, f"Next: {shlex.join(words)}")
