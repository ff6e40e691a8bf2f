"""The benchmark of loading runs, on few rows."""

import pytest

from benchmarks.bench_loading import main, report


def test_few_rows_are_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    lines = report(2_000).splitlines()
    assert lines[0].split() == ["data", "likes", "load", "s", "split", "s", "peak", "GB"]
    assert lines[1].startswith("made, 2,000 rows")
    assert 1_000 < int(lines[1].split()[3].replace(",", "")) < 2_000
    assert lines[2].startswith("ml-1m: ml-1m is not in")


def test_rows_must_be_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--rows", "many"])
    assert "invalid int value" in capsys.readouterr().err
