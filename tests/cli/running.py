"""Commands run in this process or in one of their own, and the files that they are run on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.paths import SHARED
from variegate.cli import commands


def run(*words: object) -> str:
    """Return what a command prints that goes well."""
    result = CliRunner().invoke(commands, list(map(str, words)))
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def run_with_errors(*words: object) -> str:
    """Return what a command that goes well prints, with what it tells on standard error."""
    result = CliRunner().invoke(commands, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.output


def fail(*words: object) -> str:
    """Return the one line of a command that does not."""
    result = CliRunner().invoke(commands, list(map(str, words)))
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line.removeprefix("Error: ")


def in_a_process(
    *words: object, cwd: Path | None = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run a command as a person would."""
    return subprocess.run(
        [sys.executable, "-m", "variegate", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **environment},
    )


def archive(name: str) -> Path:
    """Return the path of a real archive, or skip."""
    folder = Path(os.environ.get("VARIEGATE_DATA") or SHARED)
    if not (folder / name).is_file():
        pytest.skip(f"{name} is not in {folder}: set VARIEGATE_DATA to where it is")
    return folder / name
