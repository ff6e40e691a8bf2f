"""Vectors learnt from likes by Bayesian personalised ranking."""

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from typing import Any

import numpy as np
import pytest

from tests.extras import needs
from variegate.data.bpr import fit_bpr
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings
from variegate.errors import InputError, MissingExtraError, NotFoundError
from variegate.model.distances import cosine

pytestmark = needs("cornac")

QUICK: dict[str, Any] = {"d": 6, "epochs": 40, "learning_rate": 0.05}


@pytest.fixture(scope="module")
def learnt(tastes: Dataset) -> Embeddings:
    return fit_bpr(tastes, **QUICK)


def group_of(item_id: str) -> int:
    return int(item_id.split()[1]) // 12


def test_items_of_one_group_are_nearer_to_each_other(learnt: Embeddings) -> None:
    groups = np.array([group_of(item) for item in learnt.item_ids])
    apart = cosine(learnt.vectors).matrix()
    np.fill_diagonal(apart, np.inf)
    # every item's nearest; by chance it would be 11 of the 48
    np.testing.assert_array_equal(groups[apart.argmin(axis=1)], groups)


def test_only_liked_items_have_a_vector(tastes: Dataset, learnt: Embeddings) -> None:
    assert learnt.item_ids == tastes.item_ids[:-1]
    assert learnt.vectors.shape == (48, 6)


def test_vectors_reach_one_and_times_the_scale_are_raw(tastes: Dataset, learnt: Embeddings) -> None:
    raw = fit_bpr(tastes, **QUICK, normalise="none")
    assert np.abs(learnt.vectors).max() == 1.0
    assert raw.scale == 1.0
    np.testing.assert_allclose(learnt.vectors * learnt.scale, raw.vectors, rtol=1e-14)


def test_mean_user_is_raw_whatever_the_vectors_are(tastes: Dataset, learnt: Embeddings) -> None:
    by_row = fit_bpr(tastes, **QUICK, normalise="row")
    assert learnt.mean_user is not None
    assert by_row.mean_user is not None
    np.testing.assert_array_equal(by_row.mean_user, learnt.mean_user)
    assert learnt.mean_user.shape == (6,)
    np.testing.assert_allclose(np.linalg.norm(by_row.vectors, axis=1), 1.0)


def test_one_seed_gives_the_same_bits_and_another_does_not(
    tastes: Dataset, learnt: Embeddings
) -> None:
    again, other = fit_bpr(tastes, **QUICK), fit_bpr(tastes, **QUICK, seed=1)
    assert again.vectors.tobytes() == learnt.vectors.tobytes()
    assert other.vectors.tobytes() != learnt.vectors.tobytes()


SCRIPT = """
import hashlib
import numpy as np
from variegate.data import Dataset, ItemTable, fit_bpr
ids = tuple("abcdefgh")
users, items = np.nonzero(np.random.default_rng(0).random((30, 8)) < 0.4)
made = Dataset("made", tuple(map(str, range(30))), ids, users, items, ItemTable(ids, ids))
learnt = fit_bpr(made, d=5, epochs=20)
print(hashlib.sha256(learnt.vectors.tobytes() + learnt.mean_user.tobytes()).hexdigest())
"""


def test_number_of_threads_and_the_process_change_nothing() -> None:
    digests = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT],
            env={**os.environ, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            check=True,
            capture_output=True,
            text=True,
        )
        for threads in ("1", "4")
    ]
    assert digests[0].stdout == digests[1].stdout
    assert len(digests[0].stdout.strip()) == len(hashlib.sha256().hexdigest())
    assert digests[0].stderr == ""


def test_order_and_repetition_of_pairs_change_nothing(tastes: Dataset, learnt: Embeddings) -> None:
    order = np.random.default_rng(0).permutation(len(tastes))
    twice = np.concatenate([order, order[:50]])
    shuffled = replace(tastes, users=tastes.users[twice], items=tastes.items[twice])
    assert fit_bpr(shuffled, **QUICK).vectors.tobytes() == learnt.vectors.tobytes()


def test_users_without_a_like_do_not_count(tastes: Dataset, learnt: Embeddings) -> None:
    more = replace(tastes, user_ids=(*tastes.user_ids, "shy"))
    mean_user = fit_bpr(more, **QUICK).mean_user
    assert mean_user is not None
    assert learnt.mean_user is not None
    assert mean_user.tobytes() == learnt.mean_user.tobytes()


def test_progress_is_reported_after_every_epoch(tastes: Dataset) -> None:
    result: list[tuple[int, int]] = []
    fit_bpr(tastes, epochs=3, progress=lambda done, epochs: result.append((done, epochs)))
    assert result == [(1, 3), (2, 3), (3, 3)]


def test_training_says_nothing(tastes: Dataset, capfd: pytest.CaptureFixture[str]) -> None:
    fit_bpr(tastes, epochs=2)
    assert capfd.readouterr() == ("", "")


def test_settings_are_recorded(tastes: Dataset) -> None:
    settings = dict(fit_bpr(tastes, epochs=2, seed=5, normalise="min-max").settings)
    assert len(settings.pop("data")) == 64
    assert settings == {
        "method": "bpr",
        "cornac": metadata.version("cornac"),
        "d": 10,
        "epochs": 2,
        "learning_rate": 0.02,
        "regularisation": 0.01,
        "seed": 5,
        "normalise": "min-max",
    }


def test_global_generator_is_left_alone(tastes: Dataset) -> None:
    before = np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
    fit_bpr(tastes, epochs=2)
    after = np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
    assert before == after


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d": 0}, "`d` must be at least 1, got 0"),
        ({"d": 2.5}, "`d` must be a whole number, got 2.5"),
        ({"epochs": 0}, "`epochs` must be at least 1, got 0"),
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
        ({"seed": None}, "`seed` must be a whole number, got None"),
        ({"learning_rate": 0.0}, "`learning_rate` must be a number greater than 0"),
        ({"regularisation": -0.1}, "`regularisation` must be a number of at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(
    tastes: Dataset, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        fit_bpr(tastes, **options)


def test_unknown_normalisation_is_refused_before_training(tastes: Dataset) -> None:
    with pytest.raises(NotFoundError, match="`normalise` must be one of global"):
        fit_bpr(tastes, normalise="l2", progress=lambda *_: pytest.fail("trained"))


def test_training_that_grows_without_end_is_refused(tastes: Dataset) -> None:
    with pytest.raises(InputError, match=r"`learning_rate` must be small .* got 1000\.0 with"):
        fit_bpr(tastes, epochs=20, learning_rate=1000.0, regularisation=1.0)


def test_no_likes_are_refused(tastes: Dataset) -> None:
    nobody = np.array([], dtype=np.intp)
    with pytest.raises(InputError, match="`dataset` must have at least one liked pair"):
        fit_bpr(replace(tastes, users=nobody, items=nobody))


def test_users_who_all_like_everything_are_refused(tastes: Dataset) -> None:
    users, items = np.array([0, 0, 1, 1]), np.array([3, 4, 3, 4])
    with pytest.raises(InputError, match="got 2 users who liked each of 2 items"):
        fit_bpr(replace(tastes, users=users, items=items))


def test_missing_cornac_is_reported_with_the_command(
    tastes: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cornac.models", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'variegate\[embeddings\]'"):
        fit_bpr(tastes, epochs=1)
