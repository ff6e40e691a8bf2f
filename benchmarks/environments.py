"""Virtual environments for the peers, made once and kept: none of them shares ours."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from variegate.errors import VariegateError

#: Seconds after which an installation is given up; some peers are compiled.
PATIENCE: Final = 900.0


class PeerError(VariegateError):
    """A peer could not be installed or run here; the message says why, in one line."""


def environments_folder() -> Path:
    """Return where the environments are kept unless the caller says."""
    from platformdirs import user_cache_path

    return user_cache_path("variegate", appauthor=False) / "benchmarks"


def python_of(folder: Path, requirement: str) -> Path:
    """Return the Python of an environment that holds `requirement`, made now or before."""
    label = f"{requirement.replace('==', '-')}-py{sys.version_info.major}{sys.version_info.minor}"
    home = folder / label
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = home / "ready"
    if not (ready.is_file() and python.exists()):
        home.mkdir(parents=True, exist_ok=True)
        succeeded([sys.executable, "-m", "venv", "--clear", str(home)], PATIENCE)
        install = [str(python), "-m", "pip", "install", "--disable-pip-version-check", requirement]
        succeeded(install, PATIENCE)
        ready.touch()
    return python


def succeeded(
    command: list[str],
    patience: float,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what a command printed, or raise PeerError with its last words.

    `environment` is added to what this process was started with.
    """
    try:
        done = subprocess.run(  # noqa: S603
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=patience,
            cwd=folder,
            env={**os.environ, **(environment or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(_one_line(str(error))) from None
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()] or lines or ["no message"]
        raise PeerError(f"exit code {done.returncode}: {_one_line(errors[-1])}")
    return done.stdout


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
