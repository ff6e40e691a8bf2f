"""The chapter measured, small: it shares the paper's replays and goes on where it stopped."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from experiments.beyond.dials import DIALS
from experiments.beyond.methods import METHODS
from experiments.beyond.results import Chapter
from experiments.beyond.simulated import EXPERIMENTS
from experiments.results import Results
from experiments.run import reproduce
from tests.evaluation.replaying import write_movielens
from tests.experiments.making import TINY_PLAN
from variegate.errors import NotFoundError
from variegate.evaluation.metrics import Scores

pytest.importorskip("cornac", reason="cornac is not installed")


@dataclass
class Noted:
    """Keeps the names of stages."""

    stages: list[str] = field(default_factory=list)

    def stage(self, name: str, _total: int) -> Callable[[int], None]:
        self.stages.append(name)
        return lambda _steps: None


@dataclass(frozen=True)
class Place:
    """Where the data, the embeddings and the results are."""

    folder: Path

    def run(self, out: str, watcher: Noted, *, chapters: tuple[str, ...] = ("beyond",)) -> Results:
        return reproduce(
            TINY_PLAN,
            {"ml-100k": self.folder / "data" / "ml-100k"},
            self.folder / out,
            cache=self.folder / "cache",
            watcher=watcher,
            chapters=chapters,
        )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("beyond")
    write_movielens(folder / "data")
    return Place(folder)


@pytest.fixture(scope="module")
def watched() -> Noted:
    return Noted()


@pytest.fixture(scope="module")
def whole(place: Place, watched: Noted) -> Results:
    return place.run("whole", watched)


def chapter_of(results: Results) -> Chapter:
    assert results.beyond is not None
    return results.beyond


def recalls(results: Results) -> dict[str, bytes]:
    """Every recall of the chapter, by a name for it."""
    chapter = chapter_of(results)
    found: dict[str, list[Scores]] = {
        f"{name} {key}": list(splits)
        for name, replays in chapter.replays.items()
        for key, splits in replays.items()
    }
    for families in chapter.frontier.values():
        for family, settings in families.items():
            found |= {f"{family} {title}": list(splits) for title, splits in settings.items()}
    return {
        f"{name} {split}": scores.recall.tobytes()
        for name, splits in found.items()
        for split, scores in enumerate(splits)
    }


def test_every_method_is_measured_on_every_split(whole: Results) -> None:
    replays = chapter_of(whole).replays["ml-100k"]

    assert list(replays) == [method.key for method in METHODS]
    assert {len(splits) for splits in replays.values()} == {2}
    assert {scores.recall.shape[1] for splits in replays.values() for scores in splits} == {3}


def test_every_dial_is_turned_on_the_splits_of_the_frontier(whole: Results) -> None:
    frontier = chapter_of(whole).frontier["ml-100k"]

    assert {family: list(found) for family, found in frontier.items()} == {
        family: [method.title for method in settings] for family, settings in DIALS.items()
    }
    assert {len(splits) for found in frontier.values() for splits in found.values()} == {1}


def test_several_distances_are_learnt_and_measured(whole: Results) -> None:
    found = chapter_of(whole).distances

    assert found is not None
    assert {known: betas.shape[1] for known, betas in found.betas.items()} == {
        "cosine": 1,
        "genres": 1,
        "cosine and genres": 2,
    }
    assert {s.distances for splits in found.scores.values() for s in splits} == {
        found.scores["cosine"][0].distances
    }
    assert found.scores["cosine"][0].diversity.shape[0] == 2


def test_the_learner_of_one_distance_is_the_one_of_the_chapter(whole: Results) -> None:
    chapter = chapter_of(whole)
    assert chapter.distances is not None

    np.testing.assert_array_equal(
        chapter.distances.scores["cosine"][0].recall, chapter.replays["ml-100k"]["lmdp"][0].recall
    )


def test_simulated_users_are_played(whole: Results) -> None:
    found = chapter_of(whole).simulated

    assert list(found) == list(EXPERIMENTS)
    assert found["drift"].best.shape[0] == 2
    assert found["prior"].earned.shape[-1] == 4


def test_the_paper_is_left_alone(whole: Results) -> None:
    assert (whole.replays, whole.regrets, whole.ratios) == ({}, {}, {})
    assert not whole.is_of_the_paper
    assert whole.table1


def test_finished_chapter_measures_nothing_again(place: Place, whole: Results) -> None:
    watcher = Noted()

    again = place.run("whole", watcher)

    assert watcher.stages == []
    assert recalls(again) == recalls(whole)


def test_replays_of_the_papers_chapter_are_not_measured_again(
    place: Place, whole: Results, watched: Noted
) -> None:
    place.run("both", Noted(), chapters=("paper",))
    watcher = Noted()

    results = place.run("both", watcher)

    def plain(stages: list[str]) -> int:
        (told,) = [s for s in stages if s.startswith("ml-100k, split 2, beyond the paper, plain")]
        return int(told.partition("items: ")[2].split()[0])

    # LMDH with and without exploring, and the six baselines of the paper's own figures
    assert plain(watched.stages) - plain(watcher.stages) == 8
    assert recalls(results) == recalls(whole)


def test_nothing_that_is_kept_speaks_of_this_machine(place: Place, whole: Results) -> None:
    assert whole.beyond is not None
    for file in (place.folder / "whole" / "measured").glob("scores-*.npz"):
        assert str(place.folder) not in str(Scores.load(file).settings)


def test_a_chapter_that_there_is_not_is_refused(place: Place) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'beyond'"):
        place.run("other", Noted(), chapters=("beyonf",))
