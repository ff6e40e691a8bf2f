"""A reproduction, small: it goes on where it stopped, and comes to the same numbers."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.plan import COMPARED, OTHER_READINGS, Plan, quick_plan
from experiments.results import Results
from experiments.run import BANDITS, reproduce
from tests.evaluation.replaying import write_movielens
from tests.experiments.making import TINY_PLAN
from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.evaluation.metrics import Scores

pytest.importorskip("cornac", reason="cornac is not installed")

MEASURED_ARRAYS = ("recall", "diversity", "coverage", "novelty", "hits")


class PowerCutError(Exception):
    """What no part of the package would catch."""


@dataclass
class Cut:
    """Keeps the names of stages, and cuts the power in one of them, after some steps."""

    #: The stage to cut, from 0; None for none
    at: int | None = None
    #: Steps of that stage that are still done
    after: int = 0
    stages: list[str] = field(default_factory=list)

    def stage(self, name: str, _total: int) -> Callable[[int], None]:
        self.stages.append(name)
        left = self.after if len(self.stages) - 1 == self.at else None

        def step(steps: int) -> None:
            nonlocal left
            if left is not None:
                left -= steps
                if left < 0:
                    raise PowerCutError

        if left == 0:
            raise PowerCutError
        return step


@dataclass(frozen=True)
class Place:
    """Where the data, the embeddings and the results of a reproduction are."""

    data: Path
    cache: Path

    def run(self, out: Path, *, plan: Plan = TINY_PLAN, **options: Any) -> Results:
        paths = {"ml-100k": self.data}
        return reproduce(plan, paths, out, cache=self.cache, chapters=("paper",), **options)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("reproduction")
    return Place(write_movielens(folder), folder / "cache")


@pytest.fixture(scope="module")
def watched() -> Cut:
    return Cut()


@pytest.fixture(scope="module")
def whole(place: Place, watched: Cut, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What a run that was never broken off measures."""
    out = tmp_path_factory.mktemp("whole")
    return place.run(out, watcher=watched, command="variegate reproduce --quick")


def measured(results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield every array of the results with a name for it."""
    for name, scores in every_scores(results):
        for array in MEASURED_ARRAYS:
            yield f"{name} {array}", getattr(scores, array).tobytes()
    for reading, regret in results.regrets.items():
        yield f"regret {reading}", regret.regret.tobytes()
        yield f"bound {reading}", regret.bound.tobytes()
    for reading, ratios in results.ratios.items():
        for search, found in ratios.items():
            yield f"ratios {reading} {search}", found.tobytes()


def every_scores(results: Results) -> Iterator[tuple[str, Scores]]:
    groups: dict[str, Any] = {
        **results.replays,
        **results.sensitivity,
        **{str(k): replays for k, replays in results.lengths.items()},
    }
    for group, by_policy in groups.items():
        for policy, splits in by_policy.items():
            for split, scores in enumerate(splits):
                yield f"{group} {policy} {split}", scores


def test_everything_that_the_plan_asks_for_is_measured(whole: Results) -> None:
    assert whole.quick
    assert set(whole.replays["ml-100k"]) == {*COMPARED, *OTHER_READINGS}
    assert {len(splits) for splits in whole.replays["ml-100k"].values()} == {2}
    assert {option: set(values) for option, values in whole.sensitivity.items()} == {
        "ridge": {1.0, 50.0},
        "exploration": {0.0, 1.0},
    }
    assert {k: set(replays) for k, replays in whole.lengths.items()} == {
        2: set(BANDITS),
        3: set(BANDITS),
    }
    assert {reading: regret.regret.shape for reading, regret in whole.regrets.items()} == {
        "none": (6, 2, 4),
        "fixed": (6, 2, 4),
    }
    assert {array.shape for by_search in whole.ratios.values() for array in by_search.values()} == {
        (2, 4)
    }
    assert [scores.recall.shape[1] for _, scores in every_scores(whole)] == [3] * (20 + 4 + 6)


def test_table_1_counts_what_was_read(whole: Results) -> None:
    (row,) = whole.table1

    assert (row.dataset, row.users, row.categories) == ("ml-100k", 44, 1)
    assert row.density == row.interactions / (row.users * row.items)


def test_facts_tell_how_it_came_about(whole: Results) -> None:
    facts = whole.facts

    assert facts["command"] == "variegate reproduce --quick"
    assert facts["seeds"] == {"splits": [0, 1], "replay": 0, "simulation": 0, "ratios": 0}
    assert facts["plan"]["ridges"] == [1.0, 50.0]
    assert set(facts["versions"]) == {"variegate", "numpy", "scipy", "cornac"}
    assert {"ratios, none", "replay, ml-100k", "sensitivity", "lengths"} <= set(facts["seconds"])
    assert set(facts["users left out"]) == {"ml-100k, split 1", "ml-100k, split 2"}
    assert json.loads(json.dumps(facts)) == facts


def test_users_left_out_and_played_are_the_fifth_that_is_tested_on(whole: Results) -> None:
    played = [len(scores.recall) for scores in whole.replays["ml-100k"]["lmdh"]]
    left_out = list(whole.facts["users left out"].values())

    assert sum(left_out) > 0
    assert [sum(pair) for pair in zip(played, left_out, strict=True)] == [9, 9]


def test_same_length_is_measured_once(whole: Results, watched: Cut) -> None:
    assert watched.stages.count("ml-100k, split 1, K = 3: 10 policies") == 1
    assert watched.stages[-1] == "ml-100k, split 1, K = 2: 3 policies"
    np.testing.assert_array_equal(
        whole.lengths[3]["lmdh"][0].recall, whole.replays["ml-100k"]["lmdh"][0].recall
    )


@pytest.mark.parametrize(
    ("at", "after", "again"),
    [
        (0, 1, ["approximation ratios (none)", "approximation ratios (fixed)"]),
        (3, 0, ["simulation (fixed)", "ml-100k, split 1, K = 3: 10 policies"]),
        # Of the ten policies, those whose nine users were all played are kept.
        (4, 30, ["ml-100k, split 1, K = 3: 7 policies", "ml-100k, split 2, K = 3: 10 policies"]),
        (7, 0, ["ml-100k, split 1, K = 2: 3 policies"]),
    ],
    ids=["ratios", "simulation", "replay", "lengths"],
)
def test_run_that_was_broken_off_goes_on_where_it_stopped(
    place: Place, whole: Results, tmp_path: Path, at: int, after: int, again: list[str]
) -> None:
    with pytest.raises(PowerCutError):
        place.run(tmp_path, watcher=Cut(at, after))
    second = Cut()

    results = place.run(tmp_path, watcher=second)

    assert second.stages[: len(again)] == again
    assert dict(measured(results)) == dict(measured(whole))


def test_finished_run_measures_nothing_again(place: Place, tmp_path: Path) -> None:
    first = place.run(tmp_path)
    watcher = Cut()

    second = place.run(tmp_path, watcher=watcher, command="variegate reproduce")

    assert watcher.stages == []
    assert dict(measured(second)) == dict(measured(first))
    assert second.facts["command"] == "variegate reproduce"
    assert "command" not in first.facts


def test_several_workers_measure_the_same(place: Place, whole: Results, tmp_path: Path) -> None:
    assert dict(measured(place.run(tmp_path, workers=2))) == dict(measured(whole))


def test_folder_of_other_settings_is_refused_with_words(place: Place, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        place.run(tmp_path, watcher=Cut(0))
    other = replace(TINY_PLAN, splits=3, k=4)

    with pytest.raises(
        InputError,
        match=r"measured holds results of other settings \(splits, k differ\): choose another "
        r"folder, or delete it$",
    ):
        place.run(tmp_path, plan=other)


def test_folder_of_a_plan_that_had_more_settings_names_them(place: Place, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        place.run(tmp_path, watcher=Cut(0))
    file = tmp_path / "measured" / "plan.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "depth": 3}))

    with pytest.raises(InputError, match=r"\(depth differ\)"):
        place.run(tmp_path)


def test_folder_of_a_plan_that_had_fewer_settings_goes_on(
    place: Place, whole: Results, tmp_path: Path
) -> None:
    with pytest.raises(PowerCutError):
        place.run(tmp_path, watcher=Cut(1))
    file = tmp_path / "measured" / "plan.json"
    known = json.loads(file.read_text())
    file.write_text(json.dumps({name: v for name, v in known.items() if "frontier" not in name}))

    results = place.run(tmp_path)

    assert json.loads(file.read_text()) == known
    assert dict(measured(results)) == dict(measured(whole))


def test_folder_that_cannot_be_made_is_told(place: Place, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")

    with pytest.raises(DataError, match=r"taken/measured: cannot be made: "):
        place.run(tmp_path / "taken")


def test_damaged_result_is_told_with_its_path(place: Place, tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        place.run(tmp_path, watcher=Cut(1))
    (file,) = (tmp_path / "measured").glob("ratios-*.npz")
    file.write_bytes(file.read_bytes()[:50])

    with pytest.raises(DataError, match=rf"{file.name}: not a complete results file"):
        place.run(tmp_path)


def test_without_movielens_100k_there_is_no_sensitivity(place: Place, tmp_path: Path) -> None:
    nothing = replace(TINY_PLAN, datasets=(), simulated_runs=1, readings=("none",))

    results = place.run(tmp_path, plan=nothing)

    assert (results.replays, results.sensitivity, results.lengths) == ({}, {}, {})
    assert list(results.regrets) == ["none"]


def test_plans_differ_in_their_sizes_alone() -> None:
    full, quick = Plan().as_facts(), quick_plan().as_facts()

    assert (full["splits"], full["simulated_runs"], full["simulated_rounds"]) == (5, 20, 2000)
    assert (full["datasets"], full["rounds"], full["k"], full["lengths"]) == (
        quick["datasets"],
        quick["rounds"],
        quick["k"],
        quick["lengths"],
    )
    assert full["users"] == {}
    assert set(quick["users"]) == set(quick["datasets"])
    assert json.loads(json.dumps(quick)) == quick


def test_bound_of_theorem_2_grows(whole: Results) -> None:
    bounds: list[FloatArray] = [regret.bound for regret in whole.regrets.values()]

    assert all((np.diff(bound) > 0).all() and bound.shape == (4,) for bound in bounds)
