"""A real service under large imports: memory is bounded, and lists go on."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

from tools.loadtest.server import family_of, own_service

LINES = {"content-type": "application/x-ndjson"}
#: Bytes that an import may take above what the service takes anyway
MAX_BYTES = 64_000_000
#: Size of an import of valid lines, which may take less memory than its own size
IMPORT_BYTES = 20_000_000


class Service:
    """Sends requests to a service in processes of its own, and weighs them."""

    def __init__(self, host: str, port: int, pid: int) -> None:
        self.host, self.port, self.pid = host, port, pid

    def send(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        connection = HTTPConnection(self.host, self.port, timeout=120)
        try:
            connection.request(method, path, body, LINES if path == "/v1/import" else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def slate(self, user: str) -> dict[str, Any]:
        status, text = self.send("POST", f"/v1/users/{user}/slates", b"{}")
        assert status == 201, text
        found: dict[str, Any] = json.loads(text)
        return found

    def forget_peaks(self) -> int:
        """Let the highest use of memory begin with that of now, and return it."""
        for pid in family_of(self.pid):
            Path(f"/proc/{pid}/clear_refs").write_text("5")
        return self.peak()

    def peak(self) -> int:
        """Return the highest use of memory of the largest process."""
        texts = [Path(f"/proc/{pid}/status").read_text() for pid in family_of(self.pid)]
        return max(int(text.split("VmHWM:")[1].split()[0]) for text in texts) * 1024


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with own_service(None, 1) as found:
        yield Service(*found)


def one_line(element: bytes, count: int) -> bytes:
    return b'{"variegate":2,"kind":"user","user":[' + element * count + b"1]}\n"


BODIES = {
    "many empty lists": (b"[]\n" * 20_000_000, "line 1: must be an object, got list"),
    "lists in one line": (one_line(b"[],", 20_000_000), "line 1: must have at most 10666666 bytes"),
    "lists within the limit": (one_line(b"[],", 150_000) * 100, "line 1: `"),
    "objects within the limit": (one_line(b'{"a":1},', 95_000) * 60, "line 1: `"),
    "texts within the limit": (one_line(b'"ab",', 270_000) * 40, "line 1: `"),
    "numbers within the limit": (one_line(b"1.5,", 280_000) * 50, "line 1: `"),
    "one text": (one_line(b'"' + b"a" * 10_000_000 + b'",', 1) * 5, "line 1: `"),
    "deep": (b"[" * 310_000 + b"\n", "line 1: must be a line of JSON"),
    "no line ends": (b" " * 60_000_000, "line 1: must have at most 10666666 bytes"),
}


@pytest.mark.parametrize("name", BODIES)
def test_no_body_takes_much_memory(service: Service, name: str) -> None:
    body, words = BODIES[name]
    service.slate("ann")
    idle = service.forget_peaks()

    status, answer = service.send("POST", "/v1/import", body)

    assert (status, words in json.loads(answer)["detail"]) == (422, True), answer
    assert service.peak() - idle < MAX_BYTES


def copies(service: Service, size: int) -> list[bytes]:
    """Return lines of users like one that the service has, of so many bytes in all."""
    for _ in range(5):
        given = service.slate("model")
        rewards = json.dumps({"rewards": {given["items"][0]["id"]: 1.0}}).encode()
        service.send("POST", f"/v1/slates/{given['slate_id']}/feedback", rewards)
    lines = service.send("GET", "/v1/export")[1].splitlines()
    (line,) = [line for line in lines if b'"user":"model"' in line]
    ids = [one["id"].encode() for one in json.loads(line)["lists"]]
    made: list[bytes] = []
    while sum(map(len, made[:1])) * len(made) < size:
        copy = line.replace(b'"user":"model"', b'"user":"copy-%07d"' % len(made))
        for place, name in enumerate(ids):
            copy = copy.replace(name, b"0%07d%02d%016d" % (len(made), place, 0))
        made.append(copy)
    return made


@pytest.mark.slow
def test_lists_go_on_during_a_large_import(service: Service) -> None:
    lines = copies(service, IMPORT_BYTES)
    for number in range(160):  # after so many, the distances of all films are computed, once
        service.slate(f"waiting-{number % 50}")
    idle = service.forget_peaks()
    waits: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.wait(0.01):
            asked = perf_counter()
            service.slate(f"waiting-{len(waits) % 50}")
            waits.append(perf_counter() - asked)

    thread = threading.Thread(target=ask)
    thread.start()
    begun = perf_counter()
    status, answer = service.send("POST", "/v1/import", b"\n".join(lines))
    duration = perf_counter() - begun
    is_over.set()
    thread.join()

    assert (status, json.loads(answer)["imported"]) == (200, len(lines)), answer
    assert max(waits) < duration / 5  # a share, so that what else the machine does cancels
    assert service.peak() - idle < IMPORT_BYTES
