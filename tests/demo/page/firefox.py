"""A stock Firefox, driven by its built-in Marionette protocol: playwright needs a patched one."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

#: Names that the browser's program may have.
PROGRAMS: Final = ("firefox-esr", "firefox")
#: Seconds until the browser listens, and until it answers a command.
START_SECONDS: Final = 90.0
ANSWER_SECONDS: Final = 60.0


class Firefox:
    """A tab of a headless Firefox. Messages are JSON, each preceded by its length."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._number = 0
        self._receive()  # the greeting
        self.send("WebDriver:NewSession", {})

    def send(self, command: str, values: dict[str, Any]) -> Any:
        """Return the answer to a command, or raise what the browser says."""
        self._number += 1
        text = json.dumps([0, self._number, command, values]).encode()
        self._connection.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        if error:
            raise RuntimeError(f"{command}: {error['error']}: {error['message']}")
        return result.get("value", result) if isinstance(result, dict) else result

    def open(self, address: str) -> None:
        self.send("WebDriver:Navigate", {"url": address})

    def run(self, script: str, *values: Any) -> Any:
        return self.send("WebDriver:ExecuteScript", {"script": script, "args": list(values)})

    def click(self, selector: str) -> None:
        found = self.send("WebDriver:FindElement", {"using": "css selector", "value": selector})
        self.send("WebDriver:ElementClick", {"id": next(iter(found.values()))})

    def wait_for(self, script: str, *values: Any) -> Any:
        """Wait until a script returns something that is true."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while not (found := self.run(script, *values)):
            assert time.monotonic() < deadline, script
            time.sleep(0.1)
        return found

    def _receive(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._read(1)
        return json.loads(self._read(int(length[:-1])))

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self._connection.recv(count - len(data))
            assert piece, "Firefox closed the connection"
            data += piece
        return data


def find_firefox() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def open_firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox with a profile of its own, and end it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    (profile / "user.js").write_text(
        f'user_pref("marionette.port", {port});\n'
        'user_pref("browser.shell.checkDefaultBrowser", false);\n'
        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
        'user_pref("network.captive-portal-service.enabled", false);\n'
    )
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile)]
    process = subprocess.Popen(
        [*command, "--width", "1280", "--height", "800"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with closing(_connect(port, process)) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(30)


def _connect(port: int, process: "subprocess.Popen[bytes]") -> socket.socket:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS)
        except ConnectionRefusedError:
            assert process.poll() is None, "Firefox ended"
            assert time.monotonic() < deadline, "Firefox does not listen"
            time.sleep(0.1)
