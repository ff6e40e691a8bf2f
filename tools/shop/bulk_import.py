"""`python -m tools.shop.bulk_import`: how long lists take while 100,000 products are imported.

A service is asked for lists at a steady rate: before an import in one request, during it, and
after it. By default, 10,000 products get 100,000 more, which makes lists slower by itself. With
`--products 100000 --new 0 --changed 100000`, as many products get other prices.
"""

import argparse
import json
import tempfile
import threading
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
    *, products: int, new: int, changed: int, seconds: float, seed: int = 0
) -> dict[str, Waits]:
    """Return the waits before, during and after the import."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shop.npz")
        old = make_products(products, rng=rng)
        as_catalogue(old).save(path)
        more = make_products(new, rng=rng, first=products + 1)
        more += [replace(one, price=round(1.1 * one.price, 2)) for one in old[:changed]]
        body = b"".join(json.dumps(as_item(one)).encode() + b"\n" for one in more)
        options = ["--catalogue", str(path), "--no-page"]
        with own_service(None, 1, options) as (host, port, _pid):
            _wait(host, port, 2.0)  # the first lists compile and cache
            before = _wait(host, port, seconds)
            with Waits(host, port) as during:
                begun = perf_counter()
                counts = _import(host, port, body)
                click.echo(f"imported in {perf_counter() - begun:.1f} s: {counts}")
            return {"before": before, "during": during, "after": _wait(host, port, seconds)}


def _wait(host: str, port: int, seconds: float) -> Waits:
    with Waits(host, port) as found:
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
    parser.add_argument("--seconds", type=float, default=20.0, help="before, and after")
    given = parser.parse_args()
    found = measure(
        products=given.products, new=given.new, changed=given.changed, seconds=given.seconds
    )
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
