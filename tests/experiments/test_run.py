"""The tiny run: everything in the plan is measured, and an interrupted run resumes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.methods import METHODS, SWEEPS
from experiments.plan import BANDITS, COMPARED, OTHER_READINGS, Plan, quick_plan
from experiments.results import Results
from experiments.results_folder import ResultsFolder
from experiments.run import reproduce
from experiments.simulated import EXPERIMENTS
from tests.experiments.conftest import TinyRun
from tests.experiments.making import TINY_PLAN
from variegate.errors import DataError, InputError, NotFoundError
from variegate.evaluation.metrics import Scores

MEASURED_ARRAYS = ("recall", "diversity", "coverage", "novelty", "hits")


class PowerCutError(Exception):
    """What no part of the package would catch."""


class Progress:
    """Notes the stages, and cuts the power after some steps of one of them."""

    def __init__(self, cut: str | None = None, after: int = 0) -> None:
        self.stages: list[str] = []
        self._cut, self._after = cut, after

    def __call__(self, stage: str, done: int, _total: int) -> None:
        if stage not in self.stages:
            self.stages.append(stage)
        if stage == self._cut and done > self._after:
            raise PowerCutError


def run(tiny_run: TinyRun, out: Path, *, plan: Plan = TINY_PLAN, **options: Any) -> Results:
    paths, cache = {"ml-100k": tiny_run.data / "ml-100k"}, tiny_run.data / "cache"
    return reproduce(plan, paths, out, cache=cache, **{"chapters": ("paper",), **options})


def measured(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield every array of the paper's results with a name for it."""
    groups: dict[str, Any] = {
        **results.replays,
        **results.sensitivity,
        **{str(k): replays for k, replays in results.lengths.items()},
    }
    for group, by_policy in groups.items():
        for policy, splits in by_policy.items():
            for split, scores in enumerate(splits):
                for array in MEASURED_ARRAYS:
                    yield f"{group} {policy} {split} {array}", getattr(scores, array).tobytes()
    for reading, regret in results.regrets.items():
        yield f"regret {reading}", regret.regret.tobytes()
        yield f"bound {reading}", regret.bound.tobytes()
    for reading, ratios in results.ratios.items():
        for search, found in ratios.items():
            yield f"ratios {reading} {search}", found.tobytes()


def test_everything_of_the_paper_in_the_plan_is_measured(tiny_run: TinyRun) -> None:
    found = tiny_run.results

    assert found.quick
    assert set(found.replays["ml-100k"]) == {*COMPARED, *OTHER_READINGS}
    assert {len(splits) for splits in found.replays["ml-100k"].values()} == {2}
    assert {option: set(values) for option, values in found.sensitivity.items()} == {
        "ridge": {1.0, 50.0},
        "exploration": {0.0, 1.0},
    }
    assert {k: set(replays) for k, replays in found.lengths.items()} == {
        2: set(BANDITS),
        3: set(BANDITS),
    }
    assert {reading: regret.regret.shape for reading, regret in found.regrets.items()} == {
        "none": (6, 2, 4),
        "fixed": (6, 2, 4),
    }
    assert {array.shape for by_search in found.ratios.values() for array in by_search.values()} == {
        (2, 4)
    }
    assert found.replays["ml-100k"]["lmdh"][0].recall.shape[1] == 3


def test_everything_beyond_the_paper_in_the_plan_is_measured(tiny_run: TinyRun) -> None:
    found = tiny_run.results.beyond
    replays, frontier = found.replays["ml-100k"], found.frontier["ml-100k"]

    assert list(replays) == [method.key for method in METHODS]
    assert {len(splits) for splits in replays.values()} == {2}
    assert {method: list(settings) for method, settings in frontier.items()} == {
        method: [setting.title for setting in settings] for method, settings in SWEEPS.items()
    }
    sizes = {m: {len(splits) for splits in settings.values()} for m, settings in frontier.items()}
    # Ours and EASE are compared on all splits.
    assert sizes == {method: {2 if method in ("lmdp", "ease") else 1} for method in SWEEPS}
    assert list(found.simulated) == list(EXPERIMENTS)
    assert found.simulated["cold_start"].earned.shape == (2, 6, 4)


def test_several_distances_are_learnt_and_measured(tiny_run: TinyRun) -> None:
    found = tiny_run.results.beyond.distances

    assert found is not None
    assert {known: betas.shape[1] for known, betas in found.betas.items()} == {
        "cosine": 1,
        "genres": 1,
        "cosine and genres": 2,
    }
    assert {s.diversity.shape[0] for splits in found.scores.values() for s in splits} == {2}
    np.testing.assert_array_equal(
        found.scores["cosine"][0].recall,
        tiny_run.results.beyond.replays["ml-100k"]["lmdp"][0].recall,
    )


def test_bound_of_theorem_2_grows(tiny_run: TinyRun) -> None:
    bounds = [regret.bound for regret in tiny_run.results.regrets.values()]

    assert all((np.diff(bound) > 0).all() and bound.shape == (4,) for bound in bounds)


def test_table_1_counts_what_was_read(tiny_run: TinyRun) -> None:
    ((dataset, row),) = tiny_run.results.table1.items()

    assert (dataset, row.users, row.categories) == ("ml-100k", 44, 1)
    assert row.density == row.interactions / (row.users * row.items)


def test_facts_hold_plan_seeds_versions_and_times(tiny_run: TinyRun) -> None:
    facts = tiny_run.results.facts

    assert facts["seeds"] == {"splits": [0, 1], "replay": 0, "simulation": 0, "ratios": 0}
    assert facts["plan"]["ridges"] == [1.0, 50.0]
    assert set(facts["versions"]) == {"variegate", "numpy", "scipy", "cornac"}
    assert {"ratios, none", "replay, ml-100k", "sensitivity", "lengths"} <= set(facts["seconds"])
    assert json.loads(json.dumps(facts)) == facts


def test_users_left_out_and_measured_are_the_test_fifth(tiny_run: TinyRun) -> None:
    results = tiny_run.results
    played = [len(scores.recall) for scores in results.replays["ml-100k"]["lmdh"]]
    left_out = results.facts["users left out"]

    assert sum(left_out.values()) > 0
    assert set(left_out) == {"ml-100k, split 1", "ml-100k, split 2"}
    assert [sum(pair) for pair in zip(played, left_out.values(), strict=True)] == [9, 9]


def test_interrupted_run_resumes_with_the_same_numbers(tiny_run: TinyRun, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run(tiny_run, tmp_path, progress=Progress("ml-100k, split 1, K = 3: 10 policies", 30))
    second = Progress()

    results = run(tiny_run, tmp_path, progress=second)

    # Of the ten policies, three had replayed all of their nine users.
    assert second.stages == [
        "ml-100k, split 1, K = 3: 7 policies",
        "ml-100k, split 2, K = 3: 10 policies",
        "ml-100k, split 1, K = 3: 4 policies",
        "ml-100k, split 1, K = 2: 3 policies",
    ]
    assert dict(measured(results)) == dict(measured(tiny_run.results))


def test_beyond_the_paper_shares_the_papers_replays(tiny_run: TinyRun) -> None:
    files = (tiny_run.out / "measured").glob("scores-*.npz")
    settings = [Scores.load(path).settings for path in files]

    shared = [s for s in settings if s["policy"] == "mmr" and s["split"] == 0]
    assert len(shared) == 1
    # Nothing stored depends on this machine.
    assert str(tiny_run.data.parent) not in str(settings)


def test_plan_without_movielens_100k_has_no_sensitivity(tiny_run: TinyRun, tmp_path: Path) -> None:
    nothing = replace(TINY_PLAN, datasets=(), simulated_runs=1, readings=("none",))

    results = run(tiny_run, tmp_path, plan=nothing)

    assert (results.replays, results.sensitivity, results.lengths) == ({}, {}, {})
    assert list(results.regrets) == ["none"]
    assert not results.beyond.is_measured


def test_unknown_chapter_is_refused(tiny_run: TinyRun, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'beyond'"):
        run(tiny_run, tmp_path, chapters=("beyonf",))


def test_arrays_are_measured_once(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path, {})
    calls: list[int] = []

    def measure() -> np.ndarray:
        calls.append(1)
        return np.arange(3.0)

    first, again = (folder.array("ratios", {"users": 2}, measure) for _ in range(2))

    assert len(calls) == 1
    np.testing.assert_array_equal(first, again)
    assert folder.array("ratios", {"users": 3}, lambda: np.zeros(1)).shape == (1,)


def test_seconds_of_a_resumed_stage_add_up(tmp_path: Path) -> None:
    ResultsFolder(tmp_path, {}).save_fact("seconds: replay", 65.0)
    folder = ResultsFolder(tmp_path, {})

    with folder.timed("replay"):
        pass

    assert folder.seconds == {"replay": 65.0}


def test_folder_of_another_plan_is_refused(tmp_path: Path) -> None:
    ResultsFolder(tmp_path, {"splits": 2, "k": 3, "depth": 1})

    with pytest.raises(
        InputError,
        match=r"holds results of other settings \(splits, depth differ\): choose another folder, "
        r"or delete it$",
    ):
        ResultsFolder(tmp_path, {"splits": 3, "k": 3})


def test_folder_of_a_plan_with_fewer_settings_is_used_on(tmp_path: Path) -> None:
    ResultsFolder(tmp_path, {"splits": 2})

    ResultsFolder(tmp_path, {"splits": 2, "k": 3})

    assert json.loads((tmp_path / "plan.json").read_text()) == {"splits": 2, "k": 3}


def test_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(DataError, match=r"taken/measured: cannot be made: "):
        ResultsFolder(tmp_path / "taken" / "measured", {})


def test_damaged_result_is_an_error_with_its_path(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path, {})
    folder.array("ratios", {}, lambda: np.zeros(3))
    (file,) = tmp_path.glob("ratios-*.npz")
    file.write_bytes(file.read_bytes()[:50])

    with pytest.raises(DataError, match=rf"{file.name}: not a complete results file"):
        folder.array("ratios", {}, lambda: np.zeros(3))


def test_plans_differ_in_their_sizes_alone() -> None:
    full, quick = Plan().as_facts(), quick_plan().as_facts()

    assert (full["splits"], full["simulated_runs"], full["simulated_rounds"]) == (5, 20, 2000)
    assert {full[name] == quick[name] for name in ("datasets", "rounds", "k", "lengths")} == {True}
    assert full["users"] == {}
    assert set(quick["users"]) == set(quick["datasets"])
    assert json.loads(json.dumps(quick)) == quick
