"""A real service on a free port, and bash that runs a document's blocks against it."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.docs.documents import Block, blocks

#: Where the documents say that the service is.
WRITTEN = "127.0.0.1:8000"
#: Ports that what the documents start listens at; each becomes a free one.
OTHER_PORTS = ("8001", "8443")
_SECONDS = 120


@contextmanager
def service() -> Iterator[tuple[Path, str]]:
    """Give a new folder and the address, as host:port, of a service started in it."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("VARIEGATE_")
    }
    command = [sys.executable, "-m", "variegate", "serve", "--port", "0", "--log-level", "error"]
    with tempfile.TemporaryDirectory(prefix="variegate-docs-") as name:
        process = subprocess.Popen(
            command, cwd=name, env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            result = re.search(r"http://([\w.]+:\d+)", process.stdout.readline())
            assert result, "the service did not say where it is"
            yield Path(name), result[1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


class Shell:
    """Runs blocks of bash one after the other; variables stay, as in one terminal.

    Parameters
    ----------
    folder
        Where the blocks run.
    address
        Stands in for the address that documents have; what they start gets free ports too.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._places = {WRITTEN: address, **{port: str(free_port()) for port in OTHER_PORTS}}
        commands = Path(sys.executable).parent
        self._variables = {
            **{name: text for name, text in os.environ.items() if "VARIEGATE" not in name},
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "NO_PROXY": "127.0.0.1",
        }
        self._groups: list[int] = []
        # All that blocks start inherits the end to write: the other ends when the last one does.
        self._ended, self._running = os.pipe()

    def run(self, text: str) -> str:
        """Return what a block prints; if any of its commands fails, so does this."""
        for written, real in self._places.items():
            text = text.replace(written, real)
        kept = self._folder / ".variables"
        # `-a` exports all that is set, so that the next block can be given it.
        script = f"set -aeuo pipefail\n{text}\nenv -0 > {kept}\n"
        out, err = self._folder / ".out", self._folder / ".err"
        with out.open("wb") as output, err.open("wb") as errors:
            # Files, not pipes: what a block starts in the background would keep a pipe open.
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self._folder,
                env=self._variables,
                stdout=output,
                stderr=errors,
                pass_fds=[self._running],
                start_new_session=True,
            )
            self._groups.append(process.pid)
            status = process.wait(_SECONDS)
        assert status == 0, f"{text}\n{out.read_text()}\n{err.read_text()}"
        pairs = kept.read_text().rstrip("\0").split("\0")
        self._variables = dict(pair.split("=", 1) for pair in pairs)
        return out.read_text()

    def close(self) -> None:
        """End what blocks have left running, and wait until it has ended."""
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                continue
        os.close(self._running)
        ended, _, _ = select.select([self._ended], [], [], _SECONDS)
        os.close(self._ended)
        assert ended, "what a block has started does not end"


@contextmanager
def terminal(path: Path) -> Iterator[Shell]:
    """Give a shell for the blocks of a document, beside a new service if they call one."""
    is_called = any(WRITTEN in command.text for command, _ in commands(path))
    with service() if is_called else _no_service() as (folder, address):
        shell = Shell(folder, address)
        try:
            yield shell
        finally:
            shell.close()


@contextmanager
def _no_service() -> Iterator[tuple[Path, str]]:
    """Give a new folder and the address that documents have, where nothing listens."""
    with tempfile.TemporaryDirectory(prefix="variegate-docs-") as name:
        yield Path(name), WRITTEN


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def commands(path: Path) -> list[tuple[Block, Block | None]]:
    """Return a document's bash blocks, each with the block that shows its answer."""
    found = blocks(path)
    text = path.read_text(encoding="utf-8").splitlines()
    pairs: list[tuple[Block, Block | None]] = []
    for place, block in enumerate(found):
        if block.language != "bash":
            continue
        after = found[place + 1] if place + 1 < len(found) else None
        end = block.lines_above + block.text.count("\n") + 1
        # An answer follows at once: no words stand between.
        if after and (after.language == "bash" or any(text[end : after.lines_above - 1])):
            after = None
        pairs.append((block, after))
    return pairs
