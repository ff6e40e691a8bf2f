"""Clients of a service while its store is changed, and single requests over one connection."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from threading import Event, Thread
from time import perf_counter
from typing import Any, Final

import numpy as np

#: Of a client, between two lists: a share of the service's time, not all of it
PAUSE: Final = 0.05
CLIENTS: Final = 2


@dataclass
class Seen:
    """What clients saw: the seconds of each list, and every answer that was not a success."""

    seconds: list[float] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        p50, p99 = 1e3 * np.quantile(self.seconds, [0.5, 0.99])
        return (
            f"{len(self.seconds):,} lists, p50 {p50:.0f} ms, p99 {p99:.0f} ms, "
            f"{len(self.bad)} not answered"
        )


@contextmanager
def traffic(port: int, users: int) -> Iterator[Seen]:
    """Ask for lists and report on them within this block."""
    ended, seen = Event(), Seen()
    threads = [
        Thread(target=_work, args=(port, users, number, ended, seen)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _work(port: int, users: int, seed: int, ended: Event, seen: Seen) -> None:
    rng = random.Random(seed)  # noqa: S311 - nobody's secret
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    is_last = False
    while not is_last:  # what is measured may end before the first request: each client sends one
        is_last = ended.wait(PAUSE)
        begun = perf_counter()
        path = f"/v1/users/u{rng.randint(1, users)}/slates"
        status, answer = ask(connection, "POST", path, {})
        seen.seconds.append(perf_counter() - begun)
        if status == 201:
            path = f"/v1/slates/{answer['slate_id']}/feedback"
            body = {"rewards": {answer["items"][0]["id"]: 1.0}}
            status, _ = ask(connection, "POST", path, body)
        if status not in (200, 201):
            seen.bad.append(status)
    connection.close()


def ask(connection: HTTPConnection, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request over an open connection; return the status and the body of the answer."""
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"content-type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"{}")
