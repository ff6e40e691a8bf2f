"""Generated likes: files that the loader reads, and recall beside the truth."""

from pathlib import Path

import numpy as np
import pytest

from experiments.report.markdown import paper_markdown
from experiments.synthetic import ITEMS, USERS, compared_with, write_synthetic
from tests.experiments.making import AS_THE_PAPER_SAYS, made_replays, made_results
from variegate.data import load_movielens_100k


def test_likes_are_read_as_they_were_drawn(tmp_path: Path) -> None:
    truth = write_synthetic(tmp_path, seed=3)

    read = load_movielens_100k(tmp_path)

    assert len(read.user_ids) == USERS
    assert len(read.users) == truth.likes.sum()
    assert truth.likes.mean() == pytest.approx(truth.probabilities.mean(), abs=0.01)
    assert max(map(len, read.categories)) == 3


def test_the_true_probabilities_find_more_than_chance(tmp_path: Path) -> None:
    truth = write_synthetic(tmp_path)

    head, best, *rows, chance = compared_with(
        truth, made_replays(AS_THE_PAPER_SAYS), rounds=3, k=10
    )

    assert head.split()[:6] == ["t", "=", "1", "t", "=", "3"]
    numbers = [float(text) for text in (*best.split()[:2], *chance.split()[:2])]
    assert numbers[2:] == pytest.approx([10 / ITEMS, 30 / ITEMS], abs=5e-4)
    assert numbers[0] > 3 * numbers[2]
    assert truth.best_recall(ITEMS) == 1
    assert [row.split()[2] for row in rows] == list(AS_THE_PAPER_SAYS)
    assert np.array([row.split()[0] for row in rows], dtype=float).min() > 0


def test_reports_on_generated_likes_say_so() -> None:
    results = made_results(facts={"plan": {"synthetic": True, "splits": 2, "users": {}}})

    assert results.dataset_title("ml-100k") == "Generated likes"
    assert "Generated likes, not the paper's data" in paper_markdown(results)
