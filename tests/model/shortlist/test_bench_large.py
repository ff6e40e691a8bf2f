"""The benchmark of large catalogues runs, on few items."""

import pytest

from benchmarks.bench_large import STAGES, main, measured


@pytest.fixture(scope="module")
def facts() -> dict[str, float]:
    return measured(2_000, 10, 0.01)


def test_facts_have_what_the_bars_ask_for(facts: dict[str, float]) -> None:
    assert facts["items"] == 2_000
    passes = facts["two-stage list, ms"] / facts["one pass, ms"]
    assert facts["passes"] == pytest.approx(passes, rel=1e-12)  # up to the rounding of ms
    # Few items are all looked at, so the lists are the exact ones.
    assert facts["mean score ratio"] == facts["lowest score ratio"] == 1.0


@pytest.mark.parametrize("stage", STAGES)
def test_facts_tell_each_stage_of_learning(stage: int, facts: dict[str, float]) -> None:
    assert facts[f"mean score ratio after {stage} lists"] == 1.0


def test_a_graph_index_is_measured_beside(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("usearch", reason="usearch is not installed")
    main(["--items", "2000", "--users", "10", "--usearch"])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["items", "2,000"]
    assert lines[-1].startswith("graph: memory, MB")


def test_items_must_be_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--items", "many"])
    assert "invalid int value" in capsys.readouterr().err
