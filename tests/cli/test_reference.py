"""The page of every command is what the commands say themselves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import in_a_process
from tests.paths import ROOT
from tools.command_reference import helps, page
from variegate.cli import commands

PAGE = ROOT / "docs" / "reference" / "cli.md"


def test_page_is_what_the_commands_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "stale: run `make docs`"


def test_every_command_has_an_example() -> None:
    below = [(name, text) for name, text in helps(commands, "variegate") if name != "variegate"]

    assert {"variegate fetch", "variegate build vectors"} <= {name for name, _ in below}
    without = [name for name, text in below if not re.search(rf"Examples?:\n +{name}\b", text)]
    assert without == []


@pytest.mark.parametrize("words", [[], ["build"], ["items"], ["keys"]])
def test_short_descriptions_fit_a_terminal_of_80_columns(words: list[str]) -> None:
    text = in_a_process(*words, "--help").stdout
    listed = text[text.index("-h, --help") :].splitlines()[2:]

    assert len(listed) > 3
    assert [line for line in listed if line and not line.endswith((":", "."))] == []
    assert [line for line in listed if line.endswith("...")] == []


def test_module_writes_the_page(tmp_path: Path) -> None:
    target = tmp_path / "cli.md"

    command = [sys.executable, "-m", "tools.command_reference"]
    subprocess.run([*command, str(target)], check=True)
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout

    assert target.read_text(encoding="utf-8") == printed == page()
