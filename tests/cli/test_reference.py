"""The page of every command is what the commands say themselves."""

import re
import subprocess
import sys
from pathlib import Path

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


def test_module_writes_the_page(tmp_path: Path) -> None:
    target = tmp_path / "cli.md"

    command = [sys.executable, "-m", "tools.command_reference"]
    subprocess.run([*command, str(target)], check=True)
    printed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout

    assert target.read_text(encoding="utf-8") == printed == page()
