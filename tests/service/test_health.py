"""Readiness: the last check, if it is recent, and nothing about the store for strangers."""

import asyncio
import time
from threading import Event

import pytest

from tests.service.test_protocol import waited
from tests.waiting import PATIENCE
from variegate.errors import StoreError
from variegate.service.routes import health as module
from variegate.service.routes.health import Readiness


def test_check_that_passes_is_ready() -> None:
    assert asyncio.run(Readiness([lambda: None]).is_ready())


def test_check_that_fails_is_not_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    away = [True]

    def check() -> None:
        if away[0]:
            raise StoreError("db.internal:5432/shop is away")

    readiness = Readiness([lambda: None, check])

    async def probe() -> list[bool]:
        found = [await readiness.is_ready() for _ in range(3)]
        away[0] = False
        return [*found, await readiness.is_ready()]

    assert asyncio.run(probe()) == [False, False, False, True]
    assert caplog.messages == [
        "the service is not ready: db.internal:5432/shop is away",
        "the service is ready again",
    ]


def test_check_that_hangs_is_waited_for_no_longer_than_its_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FRESH_SECONDS", PATIENCE)
    monkeypatch.setattr(module, "SHORT_TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.5)
    going = Event()
    going.set()
    readiness = Readiness([lambda: waited(going)])

    async def probe() -> tuple[bool, bool, bool, float, bool]:
        first = await readiness.is_ready()
        going.clear()
        second = await readiness.is_ready()  # the last result counts still
        monkeypatch.setattr(module, "FRESH_SECONDS", 0.0)  # now it does not
        began = time.monotonic()
        probes = await asyncio.gather(*(readiness.is_ready() for _ in range(50)))
        took = time.monotonic() - began
        going.set()
        monkeypatch.setattr(module, "FRESH_SECONDS", PATIENCE)
        while time.monotonic() < began + PATIENCE and not await readiness.is_ready():
            await asyncio.sleep(0.01)
        return first, second, any(probes), took, await readiness.is_ready()

    first, second, third, took, last = asyncio.run(probe())
    assert (first, second, third, last) == (True, True, False, True)
    assert took < 50 * module.TIMEOUT_SECONDS / 2  # they wait together
