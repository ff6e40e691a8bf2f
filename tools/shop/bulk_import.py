"""`python -m tools.shop.bulk_import`: how long lists take while 100,000 products are imported.

A service is asked for lists at a steady rate: before an import in one request, during it, and
after it. By default, 10,000 products get 100,000 more, which makes lists slower by itself. With
`--products 100000 --new 0 --changed 100000`, as many products get other prices. With `--replicas 2`
there are two services over one store: the first gets the import, and both are asked for lists.
"""

import argparse
import json
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Final

import click
import numpy as np

from tools.loadtest.server import own_service
from tools.shop.new_items import as_catalogue, as_item
from tools.shop.products import make_products

#: Seconds between two requests for lists.
INTERVAL: Final = 0.02
USERS: Final = 100


@dataclass
class Waits:
    """Asks for lists in a thread, and records how long each took."""

    host: str
    port: int
    seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Waits":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _ask(self) -> None:
        connection = HTTPConnection(self.host, self.port, timeout=120)
        while not self._is_over.wait(INTERVAL):
            begun = perf_counter()
            connection.request("POST", f"/v1/users/u{len(self.seconds) % USERS}/slates", b"{}")
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 201:
                raise RuntimeError(text)
            self.seconds.append(perf_counter() - begun)
        connection.close()


def measure(
    *, products: int, new: int, changed: int, seconds: float, replicas: int = 1, seed: int = 0
) -> list[dict[str, Waits]]:
    """Return the waits before, during and after the import, of each replica."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as services:
        path = Path(folder, "shop.npz")
        old = make_products(products, rng=rng)
        as_catalogue(old).save(path)
        more = make_products(new, rng=rng, first=products + 1)
        more += [replace(one, price=round(1.1 * one.price, 2)) for one in old[:changed]]
        body = b"".join(json.dumps(as_item(one)).encode() + b"\n" for one in more)
        options = ["--catalogue", str(path), "--no-page"]
        started = (own_service(f"sqlite:///{folder}/store.db", 1, options) for _ in range(replicas))
        addresses = [services.enter_context(one)[:2] for one in started]
        _wait(addresses, 2.0)  # the first lists compile and cache
        before = _wait(addresses, seconds)
        with ExitStack() as asking:
            during = [asking.enter_context(Waits(*one)) for one in addresses]
            begun = perf_counter()
            counts = _import(*addresses[0], body)
            click.echo(f"imported in {perf_counter() - begun:.1f} s: {counts}")
        after = _wait(addresses, seconds)
        names = ("before", "during", "after")
        return [
            dict(zip(names, of_one, strict=True))
            for of_one in zip(before, during, after, strict=True)
        ]


def _wait(addresses: list[tuple[str, int]], seconds: float) -> list[Waits]:
    with ExitStack() as asking:
        found = [asking.enter_context(Waits(*one)) for one in addresses]
        sleep(seconds)
    return found


def _import(host: str, port: int, body: bytes) -> dict[str, Any]:
    connection = HTTPConnection(host, port, timeout=120)
    headers = {"content-type": "application/x-ndjson"}
    connection.request("POST", "/v1/items/import", body, headers)
    last: dict[str, Any] = json.loads(connection.getresponse().read().splitlines()[-1])
    connection.close()
    if not last.get("done"):
        raise RuntimeError(last)
    return last


def main() -> None:
    """Print the waits, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--products", type=int, default=10_000)
    parser.add_argument("--new", type=int, default=100_000)
    parser.add_argument("--changed", type=int, default=0)
    parser.add_argument("--replicas", type=int, default=1, help="services over one store")
    parser.add_argument("--seconds", type=float, default=20.0, help="before, and after")
    given = parser.parse_args()
    found = measure(
        products=given.products,
        new=given.new,
        changed=given.changed,
        seconds=given.seconds,
        replicas=given.replicas,
    )
    for number, waits in enumerate(found, start=1):
        if given.replicas > 1:
            click.echo(f"replica {number}")
        _print(waits)


def _print(found: dict[str, Waits]) -> None:
    p99 = {}
    for name, waits in found.items():
        middle, p99[name], most = 1000 * np.quantile(waits.seconds, [0.5, 0.99, 1.0])
        click.echo(
            f"{name}: {len(waits.seconds)} lists, median {middle:.1f} ms, "
            f"p99 {p99[name]:.1f} ms, longest {most:.1f} ms"
        )
    click.echo(
        f"p99 during the import: {p99['during'] / p99['before']:.2f} times that before it, "
        f"{p99['during'] / p99['after']:.2f} times that after it"
    )


if __name__ == "__main__":
    main()
