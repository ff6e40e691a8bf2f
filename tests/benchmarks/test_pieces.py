"""What the benchmark's page is made of: turns, fits, numbers in words, verdicts, skipped peers."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bench_batch, bench_peers
from benchmarks.bars import BARS, Bar, judged
from benchmarks.bench_growth import exponent
from benchmarks.bench_lists import PAPER
from benchmarks.bench_ray import same_bits
from benchmarks.environments import PeerError, succeeded
from benchmarks.markdown import duration, size, table, three_digits
from benchmarks.page import page
from benchmarks.plain_kernel import plain_list
from benchmarks.results import Comparison, Part, Results, Shape
from benchmarks.timing import alternated, compared
from benchmarks.workloads import catalogue, taught
from tests.evaluation.replaying import drawn_task
from variegate.evaluation import evaluate
from variegate.model.gains import Normaliser


def paper_row(*, theirs: float, ours: float, items: int, d: int = 10) -> Comparison:
    return Comparison(PAPER, "the same list", "list", Shape(items, d), theirs, ours, 1.0, 2.0, 5)


def test_calls_take_turns() -> None:
    calls: list[str] = []

    def slow(name: str) -> None:
        calls.append(name)
        sum(range(300_000))  # long enough to be timed one by one

    times = alternated({name: partial(slow, name) for name in "ab"}, budget=0.0, least=3)
    assert "".join(calls[-6:]) == "ababab"
    assert [len(seconds) for seconds in times.values()] == [3, 3]


def test_ratio_is_of_the_medians_and_spread_of_the_turns() -> None:
    row = compared("other", "", Shape(10), [2.0, 4.0, 90.0], [1.0, 2.0, 3.0])
    assert row.ratio == 2.0
    assert row.low == 2.0
    assert row.high == pytest.approx(2.0 + 0.8 * 28.0)


def test_exponent_is_the_slope_on_logarithmic_axes() -> None:
    assert exponent([1, 10, 100], [7.0, 700.0, 70_000.0]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0000853, "85.3 µs"), (0.001293, "1.29 ms"), (3.4, "3.40 s"), (1e-7, "0.10 µs")],
)
def test_durations_have_three_digits_and_a_unit(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"), [(670, "670 bytes"), (15_400, "15.4 kB"), (1_660_000, "1.66 MB")]
)
def test_sizes_have_a_unit(number: float, words: str) -> None:
    assert size(number) == words


def test_large_numbers_have_all_their_digits() -> None:
    assert three_digits(12_345.6) == "12,346"


def test_columns_of_numbers_are_set_to_the_right() -> None:
    assert table(["a", "b"], [["x", "1"]]) == ["| a | b |", "| --- | ---: |", "| x | 1 |", ""]


@pytest.mark.parametrize(
    ("at_least", "value", "verdict"),
    [
        (True, 12.0, "met"),
        (True, 11.9, "not met"),
        (False, 12.0, "met"),
        (False, 12.1, "not met"),
        (True, None, "not measured"),
    ],
)
def test_bar_is_judged_by_its_goal(at_least: bool, value: float | None, verdict: str) -> None:
    assert Bar("speed", 12.0, at_least, "×", lambda _results: value).verdict(value) == verdict


def test_bars_find_the_size_that_they_speak_of() -> None:
    part = Part([paper_row(theirs=2.6, ours=0.1, items=1_000_000, d=64)])
    rows = judged(Results(quick=False, parts={"lists": part}))
    assert [row["what"] for row in rows if row["verdict"] == "met"] == [
        "LMDH's list of 10 against the paper's lines, L = 1,000,000, d = 64"
    ]
    assert [row["verdict"] for row in rows].count("not measured") == len(BARS) - 1


def test_results_come_back_from_their_file(tmp_path: Path) -> None:
    part = Part([paper_row(theirs=2.0, ours=1.0, items=7)], facts={"shapes": 1.0})
    results = Results(quick=True, parts={"lists": part}, seconds={"lists": 1.0})
    results.save(tmp_path / "results.json", judged(results))
    assert Results.load(tmp_path / "results.json") == results


def test_both_sides_have_learnt_the_same() -> None:
    sides = taught(catalogue(Shape(300, 6, m=2)))
    np.testing.assert_allclose(sides.paper.theta, sides.policy.preferences.relevance)
    np.testing.assert_allclose(sides.paper.beta, sides.policy.preferences.diversity)
    np.testing.assert_array_equal(sides.paper_list(10).places, sides.policy.recommend(10).items)


@pytest.mark.parametrize("normaliser", ["growing", "none"])
def test_the_others_find_the_list_that_the_policy_finds(normaliser: Normaliser) -> None:
    sides = taught(catalogue(Shape(900, 6)), normaliser=normaliser)
    ours = sides.policy.recommend(10).items.tolist()
    assert sides.expert_list(10)() == ours
    assert plain_list(sides.policy, 10)().tolist() == ours


def test_failed_command_says_why_in_one_line() -> None:
    script = "import sys; print('hm\\nan error occurred', file=sys.stderr); sys.exit(3)"
    with pytest.raises(PeerError, match=r"^exit code 3: an error occurred$"):
        succeeded([sys.executable, "-c", script], 60.0)


def test_peers_that_cannot_be_installed_are_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: Path, _requirement: str) -> Path:
        raise PeerError("exit code 1: no matching distribution")

    monkeypatch.setattr(bench_peers, "python_of", fail)
    monkeypatch.setattr(bench_batch, "python_of", fail)
    rates = bench_batch.measure(True, tmp_path)
    assert rates.skipped == ["implicit==0.7.3: exit code 1: no matching distribution"]
    assert bench_batch.THEIRS not in rates.facts
    part = bench_peers.measure(True, tmp_path)
    assert part.comparisons == []
    assert part.skipped[0] == "mabwiser==2.7.4: exit code 1: no matching distribution"
    text = page(Results(quick=True, parts={"peers": part}), [], [])
    assert "*Skipped: mabwiser==2.7.4: exit code 1: no matching distribution.*" in text


def test_replays_are_compared_by_all_of_their_bits() -> None:
    task = drawn_task(users=4, items=12)
    one, same, other = (
        evaluate(["lmdt"], task, k=3, rounds=2, seed=seed, progress=False) for seed in (0, 0, 1)
    )

    assert same_bits(one, same)
    assert not same_bits(one, other)
