"""Many users in one process: each as if they had a policy of their own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.policies.making import catalogue_of, grown, shown
from variegate import LMDP, POLICIES, Catalogue, Dial, Recommender, default_prior
from variegate.errors import DataError, InputError, NotFoundError, StateError
from variegate.policies import make_policy
from variegate.policies.attention import Cascade

CATALOGUE = catalogue_of(2)


def play(recommender: Recommender, users: str, rounds: int = 3) -> None:
    """Let users click on what they like, who are distinguished by their letters."""
    for _ in range(rounds):
        for user in users:
            slate = recommender.recommend(user, 4)
            recommender.update(slate, [(item + ord(user)) % 2 for item in slate.items])


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"lmdh-greedy"}))
def test_each_user_has_the_lists_of_a_policy_alone(name: str) -> None:
    recommender = Recommender(CATALOGUE, name)
    alone = {user: make_policy(name, CATALOGUE) for user in "ab"}
    rng = np.random.default_rng(0)

    for turn in range(4):
        for user, policy in alone.items():
            slate = recommender.recommend(user, 4, exclude=[1], rng=turn)
            assert shown(slate) == shown(policy.recommend(4, exclude=[1], rng=turn))
            rewards = rng.integers(0, 2, 4)
            recommender.update(slate, rewards, seen=[0, 1, 3])
            policy.update(slate, rewards, seen=[0, 1, 3])

    for user, policy in alone.items():
        assert recommender.policy(user).state() == policy.state()
        wanted = recommender.preferences(user).relevance
        np.testing.assert_array_equal(wanted, policy.preferences.relevance)


def test_a_slate_knows_its_user() -> None:
    recommender = Recommender(CATALOGUE)

    assert recommender.recommend("anna").user_id == "anna"
    assert recommender.recommend(7).user_id == "7"
    assert list(recommender.users) == ["anna", "7"]


def test_feedback_teaches_about_its_user_only() -> None:
    recommender = Recommender(CATALOGUE, "lmdh", ridge=1.0)
    before = recommender.recommend("ben", 4)

    play(recommender, "a")

    assert shown(recommender.recommend("ben", 4)) == shown(before)
    assert shown(recommender.recommend("a", 4)) != shown(before)


def test_options_reach_the_policies() -> None:
    policy = Recommender(CATALOGUE, "lmdp:exploration=0.5", floor=0.7)
    policy.recommend("anna")

    found = policy.policy("anna")

    assert isinstance(found, LMDP)
    assert (found.exploration, found.floor) == (0.5, 0.7)
    options = "exploration=0.5, floor=0.7"
    assert repr(policy) == f"Recommender({CATALOGUE!r}, 'lmdp', {options}, users: 1)"


def test_a_dial_and_candidates_are_those_of_a_policy() -> None:
    recommender, dial = Recommender(CATALOGUE), Dial(floor=3.0)

    slate = recommender.recommend("anna", 3, candidates=[1, 4, 5, 8], dial=dial)

    alone = LMDP(CATALOGUE).recommend(3, candidates=[1, 4, 5, 8], dial=dial)
    assert shown(slate) == shown(alone)


def test_random_lists_do_not_depend_on_other_users() -> None:
    together, apart = Recommender(CATALOGUE, "uniform"), Recommender(CATALOGUE, "uniform")

    first = [together.recommend(user, 5).ids for user in ("a", "b", "a")]
    second = [apart.recommend(user, 5).ids for user in ("a", "a", "b")]

    assert [first[0], first[2], first[1]] == second
    assert len(set(first)) == 3
    assert Recommender(CATALOGUE, "uniform", seed=1).recommend("a", 5).ids != first[0]


def test_random_numbers_given_leave_the_users_own_as_they_are() -> None:
    one, other = Recommender(CATALOGUE, "uniform"), Recommender(CATALOGUE, "uniform")

    one.recommend("a", 5, rng=3)

    assert one.recommend("a", 5).ids == other.recommend("a", 5).ids


def test_a_user_who_is_forgotten_is_new() -> None:
    recommender = Recommender(CATALOGUE, "lmdt")
    first = recommender.recommend("a", 4)
    play(recommender, "ab")

    recommender.forget("a")

    assert list(recommender.users) == ["b"]
    assert shown(recommender.recommend("a", 4)) == shown(first)


def test_feedback_makes_a_forgotten_user_known_again() -> None:
    recommender = Recommender(CATALOGUE)
    slate = recommender.recommend("a", 2)
    recommender.forget("a")

    recommender.update(slate, [1, 0])

    assert list(recommender.users) == ["a"]


@pytest.mark.parametrize("user", ["", None, True, 1.5, b"a"])
def test_a_wrong_user_id(user: Any) -> None:
    recommender = Recommender(CATALOGUE)

    with pytest.raises(InputError, match=r"`user_id` must be text that is not empty or a whole"):
        recommender.recommend(user)

    assert not recommender.users


@pytest.mark.parametrize("method", ["forget", "preferences", "policy"])
def test_a_user_who_is_not_there(method: str) -> None:
    with pytest.raises(NotFoundError, match="no user 'zoe'"):
        getattr(Recommender(CATALOGUE), method)("zoe")


def test_a_slate_without_a_user() -> None:
    slate = LMDP(CATALOGUE).recommend(2)

    with pytest.raises(InputError, match=r"`slate` must come from .*without a `user_id`"):
        Recommender(CATALOGUE).update(slate, [1, 0])


def test_after_a_mistake_nothing_has_changed() -> None:
    recommender = Recommender(CATALOGUE, "uniform")

    with pytest.raises(InputError, match="`k` must be"):
        recommender.recommend("a", 99)
    assert not recommender.users

    slate = recommender.recommend("a", 2)
    with pytest.raises(InputError, match="`rewards` must"):
        recommender.update(slate, [1, 2])
    assert recommender.recommend("a", 2).ids != slate.ids


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"policy": "lmpd"}, NotFoundError, "did you mean 'lmdp'"),
        ({"policy": "lmdh:rigde=1"}, NotFoundError, "did you mean 'ridge'"),
        ({"exploration": -1.0}, InputError, "`exploration` must be"),
        ({"seed": -1}, InputError, "`seed` must be a whole number of at least 0, got -1"),
        ({"seed": "x"}, InputError, "`seed` must be a whole number of at least 0, got 'x'"),
    ],
)
def test_wrong_options_are_an_error_at_once(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        Recommender(CATALOGUE, **arguments)


@pytest.mark.parametrize("name", ["lmdp", "lmdt", "linucb", "dc2b", "mmr", "uniform"])
def test_what_was_saved_goes_on(name: str, tmp_path: Path) -> None:
    first = Recommender(CATALOGUE, name, seed=3, normaliser="none")
    play(first, "abc")
    first.recommend("äöü \ud800", 3)
    first.save(tmp_path / "users.npz")

    second = Recommender.load(tmp_path / "users.npz", CATALOGUE)

    assert repr(second) == repr(first)
    assert list(second.users) == list(first.users) == ["a", "b", "c", "äöü \ud800"]
    play(first, "abd")
    play(second, "abd")
    for user in first.users:
        assert second.policy(user).state() == first.policy(user).state()
        assert shown(second.recommend(user, 4)) == shown(first.recommend(user, 4))


def test_a_recommender_without_users_can_be_saved(tmp_path: Path) -> None:
    Recommender(CATALOGUE).save(tmp_path / "none.npz")

    assert not Recommender.load(tmp_path / "none.npz", CATALOGUE).users


def test_a_prior_and_arrays_are_saved_with_it(tmp_path: Path) -> None:
    prior = default_prior(CATALOGUE, variance=0.5, beta=2.0)
    with_prior = Recommender(CATALOGUE, prior=prior, floor=0.1)
    with_array = Recommender(CATALOGUE, "mmr", mean_user=np.array([1.0, 0.0, 0.0, -1.0]))
    for recommender in (with_prior, with_array):
        expected = recommender.recommend("a", 4)
        recommender.save(tmp_path / "users.npz")

        loaded = Recommender.load(tmp_path / "users.npz", CATALOGUE)

        assert shown(loaded.recommend("a", 4)) == shown(expected)
        np.testing.assert_array_equal(
            loaded.preferences("a").diversity, recommender.preferences("a").diversity
        )


def test_an_option_that_the_file_cannot_hold_is_asked_for(tmp_path: Path) -> None:
    Recommender(CATALOGUE, "lmdh", attention=Cascade()).save(tmp_path / "users.npz")

    with pytest.raises(InputError, match=r"`load` must be given `attention`, which the file cann"):
        Recommender.load(tmp_path / "users.npz", CATALOGUE)
    assert not Recommender.load(tmp_path / "users.npz", CATALOGUE, attention="cascade").users


def test_options_can_be_replaced_at_loading(tmp_path: Path) -> None:
    Recommender(CATALOGUE, "lmdh", ridge=1.0).save(tmp_path / "users.npz")

    loaded = Recommender.load(tmp_path / "users.npz", CATALOGUE, ridge=2.0)

    assert "ridge=2.0" in repr(loaded)


def test_users_go_on_in_a_catalogue_that_has_grown(tmp_path: Path) -> None:
    small = Recommender(CATALOGUE, "lmdp")
    play(small, "a")
    small.save(tmp_path / "users.npz")

    large = Recommender.load(tmp_path / "users.npz", grown(CATALOGUE))

    assert large.policy("a").state() == small.policy("a").state()
    assert set(large.recommend("a", 15).items) == set(range(15))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (catalogue_of(1), "distance genres is gone"),
        (catalogue_of(2, called="film"), "its items are others, or in another order"),
        (catalogue_of(2, items=5), "7 items are gone"),
    ],
)
def test_another_catalogue_is_refused(other: Catalogue, words: str, tmp_path: Path) -> None:
    Recommender(CATALOGUE).save(tmp_path / "users.npz")

    with pytest.raises(DataError, match=rf"users\.npz: it was saved with another .*{words}"):
        Recommender.load(tmp_path / "users.npz", other)


def changed(path: Path, header: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """Change parts of a file."""
    with np.load(path) as stored:
        parts = {name: stored[name] for name in stored.files}
    described = {**json.loads(parts["header"].tobytes()), **(header or {})}
    parts["header"] = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
    np.savez(path, **{**parts, **arrays})
    return path


@pytest.mark.parametrize(
    ("header", "arrays", "words"),
    [
        ({"format": "cake"}, {}, "not a file of variegate's recommender format"),
        ({"version": 2}, {}, "version 2 of the recommender format, and this variegate reads vers"),
        ({"policy": "lmdh"}, {}, "user 'a': `state` belongs to 'lmdp', not to 'lmdh'"),
        ({}, {"states": np.zeros(9, np.uint8)}, "user 'a': not a state of variegate"),
        ({}, {"lists": np.zeros(2, np.int64)}, "not a complete recommender file"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    header: dict[str, Any], arrays: dict[str, Any], words: str, tmp_path: Path
) -> None:
    recommender = Recommender(CATALOGUE)
    recommender.recommend("a", 2)
    recommender.save(tmp_path / "users.npz")

    with pytest.raises(DataError, match=words):
        Recommender.load(changed(tmp_path / "users.npz", header, **arrays), CATALOGUE)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")

    with pytest.raises(DataError, match="no recommender at"):
        Recommender.load(tmp_path / "none.npz", CATALOGUE)
    with pytest.raises(DataError, match="not a complete recommender file"):
        Recommender.load(tmp_path / "notes.txt", CATALOGUE)


def test_an_error_while_saving_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recommender, path = Recommender(CATALOGUE), tmp_path / "users.npz"
    recommender.save(path)
    before = path.read_bytes()
    recommender.recommend("a", 2)

    def broken(*_: Any, **__: Any) -> None:
        raise StateError("full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(StateError):
        recommender.save(path)

    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["users.npz"]
