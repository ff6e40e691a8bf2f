"""Progress bars: drawn on a terminal, silent elsewhere."""

import pytest

from variegate.evaluation.progress import show_progress


def test_a_function_is_called_with_the_progress() -> None:
    calls: list[tuple[str, int, int]] = []

    with show_progress(lambda *call: calls.append(call)) as show:
        show("Replaying", 1, 2)

    assert calls == [("Replaying", 1, 2)]


@pytest.mark.parametrize("in_bytes", [False, True])
def test_the_last_stage_is_drawn_on_a_terminal(
    in_bytes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # on a dumb terminal nothing is drawn

    with show_progress(in_bytes=in_bytes) as show:
        show("Learning", 3, 0)
        show("Replaying", 1, 2)

    assert "Replaying" in capsys.readouterr().out


@pytest.mark.parametrize("progress", [False, True])
def test_nothing_is_drawn_elsewhere(
    progress: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    with show_progress(progress) as show:
        show("Replaying", 1, 2)

    assert capsys.readouterr().out == ""
