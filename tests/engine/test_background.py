"""Long work lets other threads run."""

from time import monotonic

import pytest

from variegate.engine import background
from variegate.engine.background import Throttle


def test_a_pause_lasts_until_others_are_done() -> None:
    done = iter([True, True, False])
    throttle = Throttle(0.0, 0.001, lambda: next(done))
    throttle()
    assert next(done, None) is None


def test_others_who_are_always_at_work_are_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "_PATIENCE", 0.05)
    throttle, begun = Throttle(0.0, 0.001, lambda: True), monotonic()
    throttle()
    assert monotonic() - begun >= 0.05
    throttle()
    assert monotonic() - begun < 5.0


def test_short_work_is_not_interrupted() -> None:
    asked = list[str]()

    def is_busy() -> bool:
        asked.append("busy?")
        return True

    Throttle(60.0, 60.0, is_busy)()

    assert not asked  # which comes with a pause, of a minute here
