"""Large stores, batches and Ray: measured small, judged by code."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bench_ray
from tests.evaluation.replaying import drawn_task
from tests.paths import ROOT
from tests.postgres import Postgres, fresh_database
from tools.large_log.__main__ import part_of as part_of_log
from tools.measured_command import Ran, run
from tools.volume import lists, slates
from tools.volume.report import PAGE, REPORT
from tools.volume.traffic import Seen
from variegate import Catalogue
from variegate.data.films import film_catalogue
from variegate.engine.retention import Removed
from variegate.errors import VariegateError

GOOD = slates.Measured(
    1000,
    lists={"large": [0.010, 0.012], "empty": [0.010, 0.010]},
    overviews=[0.009, 0.011],
    empty=[0.0002],
    during=Seen([0.01]),
    before=Seen([0.01]),
    removed=Removed(100, 800, 800),
    removal=2.0,
)


def verdicts(found: slates.Measured) -> list[bool]:
    return [one.holds for one in slates.judged(found)]


def test_the_page_is_made_of_the_results() -> None:
    assert PAGE == ROOT / "docs" / "explanation" / "volume.md"
    assert PAGE.read_text(encoding="utf-8") == REPORT.page(REPORT.load())


@pytest.mark.parametrize(
    ("number", "worse"),
    [
        (0, {"overviews": [0.021]}),
        (1, {"lists": {"large": [0.013, 0.013], "empty": [0.010, 0.010]}}),
        (2, {"removed": Removed(99, 792, 792)}),
        (2, {"during": Seen([0.01], [503])}),
        (3, {"difference": 1e-8}),
        (3, {"wrong_sums": 1}),
    ],
)
def test_each_promise_of_a_large_store_is_judged(number: int, worse: dict[str, object]) -> None:
    assert verdicts(GOOD) == [True] * 4
    assert verdicts(replace(GOOD, **worse)) == [place != number for place in range(4)]  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_store_is_filled_measured_and_cleared(postgres: Postgres, tmp_path: Path) -> None:
    items = Catalogue(range(30), np.random.default_rng(0).normal(size=(30, 4)), "cosine")
    large, empty = (fresh_database(postgres) for _ in range(2))
    found = slates.measure(large, empty, tmp_path, items, 400, seconds=0.5)

    # 40 users, and the one that they were copied from
    assert found.removed == Removed(41, 328, 328)
    assert len(found.overviews) == slates.OVERVIEWS
    assert found.before.seconds
    assert verdicts(found)[2:] == [True, True]


def test_lists_are_made_by_the_command_and_checked(tmp_path: Path) -> None:
    found = lists.measure(tmp_path, 30, 1)

    (one,) = lists.part_of(found, 1).findings
    assert one.holds
    assert found.right == 30
    assert found.ran.printed.startswith("30 lists made")
    likes = lists.draw_likes(film_catalogue(), 29)
    likes.write_parquet(tmp_path / "fewer.parquet")
    assert lists.right_lists(tmp_path / "lists", tmp_path / "fewer.parquet") == 29


def test_a_command_that_fails_is_not_measured(tmp_path: Path) -> None:
    with pytest.raises(VariegateError, match="recommend-all ended with"):
        run(["recommend-all", "--users", str(tmp_path / "none.csv"), "--out", "x"])


def test_memory_is_judged_by_the_larger_step() -> None:
    small, large = (Ran("", 1.0, 1.0, size) for size in (1e9, 4.1e9))

    assert part_of_log(10, small, small).findings[0].holds
    assert not part_of_log(10, small, large).findings[0].holds


@pytest.mark.parametrize(("shared", "holds"), [([1.0, 1.2, 5.0], True), ([1.4, 1.0, 1.4], False)])
def test_ray_is_judged_by_the_middle_turn(shared: list[float], holds: bool) -> None:
    found = bench_ray.Measured([2.0, 2.0, 2.0], shared)

    same, faster = bench_ray.part_of(found, drawn_task(), "ml-1m", 30).findings
    assert same.holds
    assert faster.holds == holds
