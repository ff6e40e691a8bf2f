"""Bad input: every policy says what is wrong, in the same words, and stays as it was."""

from typing import Any

import numpy as np
import pytest

from tests.policies.making import Make, catalogue_of, grown, played
from variegate import POLICIES, Catalogue, Dial, make_policy
from variegate.errors import InputError, NotFoundError

WITH_DIAL = {"lmdp", "lmdt", "lmdh", "lmdh-greedy"}
NUMBER = r"`k` must be from 1 to 12 \(the candidates\), got"


@pytest.mark.parametrize(
    ("k", "words"),
    [
        (0, rf"{NUMBER} 0"),
        (-3, rf"{NUMBER} -3"),
        (13, rf"{NUMBER} 13"),
        (2.5, r"`k` must be a whole number, got 2\.5"),
        ("3", r"`k` must be a whole number, got '3'"),
        (None, r"`k` must be a whole number, got None"),
    ],
)
def test_a_wrong_k(make: Make, catalogue: Catalogue, k: Any, words: str) -> None:
    policy = played(make(catalogue))
    before = policy.state()

    with pytest.raises(InputError, match=words):
        policy.recommend(k, rng=0)

    assert policy.state() == before


def test_more_items_than_are_left(make: Make, catalogue: Catalogue) -> None:
    policy = make(catalogue)

    with pytest.raises(InputError, match=r"`k` must be from 1 to 2 \(the candidates\), got 3"):
        policy.recommend(3, candidates=[1, 2, 3], exclude=[2])


@pytest.mark.parametrize("name_of", ["candidates", "exclude"])
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([0, 12], r"must hold rows from 0 to 11, got 12"),
        ([-1], r"must hold rows from 0 to 11, got -1"),
        (["item 3"], r"must be a list of row numbers or a mask, got <U6 .* catalogue\.rows\(ids\)"),
        ([1.0, 2.0], r"must be a list of row numbers or a mask, got float64"),
        ([[1, 2]], r"must be a list of row numbers or a mask, got int64 of shape \(1, 2\)"),
        ([True, False], r"as a mask must have shape \(12,\), got \(2,\)"),
    ],
)
def test_wrong_candidates(
    make: Make, catalogue: Catalogue, name_of: str, rows: Any, words: str
) -> None:
    with pytest.raises(InputError, match=f"`{name_of}` {words}"):
        make(catalogue).recommend(1, **{name_of: rows})


@pytest.mark.parametrize(
    ("rewards", "words"),
    [
        ([1, 0, 1], r"`rewards` must have one number for each of 4 items, got 3"),
        ([], r"`rewards` must have one number for each of 4 items, got 0"),
        ([[1, 0, 1, 0]], r"`rewards` must have 1 axes, got shape \(1, 4\)"),
        (1.0, r"`rewards` must have 1 axes, got shape \(\)"),
        ([0, 1, np.nan, 0], r"`rewards` must be finite, got nan at \[2\]"),
        ([0, 1, 0, None], r"`rewards` must be finite, got nan at \[3\]"),
        ([0, np.inf, 0, 0], r"`rewards` must be finite, got inf at \[1\]"),
        ([0, 1.5, 0, 0], r"`rewards` must lie from 0 to 1, got 1\.5"),
        ([0, 0, 0, -0.1], r"`rewards` must lie from 0 to 1, got -0\.1"),
        (["liked", "", "", ""], r"`rewards` must be an array of numbers: .*'liked'"),
    ],
)
def test_wrong_rewards(make: Make, catalogue: Catalogue, rewards: Any, words: str) -> None:
    policy = played(make(catalogue))
    before, slate = policy.state(), policy.recommend(4, rng=0)

    with pytest.raises(InputError, match=words):
        policy.update(slate, rewards)

    assert policy.state() == before


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([True, False], r"`seen` as a mask must have shape \(4,\), got \(2,\)"),
        ([0, 4], r"`seen` must hold distinct positions from 0 to 3, got \[0, 4\]"),
        ([-1], r"`seen` must hold distinct positions from 0 to 3, got \[-1\]"),
        ([2, 2], r"`seen` must hold distinct positions from 0 to 3, got \[2, 2\]"),
        ([[0, 1]], r"`seen` must be a mask or a list of positions, got int64 of shape \(1, 2\)"),
        ([0.0, 1.0], r"`seen` must be a mask or a list of positions, got float64"),
        (["item 3"], r"`seen` must be a mask or a list of positions, got <U6"),
    ],
)
def test_wrong_positions_seen(make: Make, catalogue: Catalogue, seen: Any, words: str) -> None:
    policy = played(make(catalogue))
    before, slate = policy.state(), policy.recommend(4, rng=0)

    with pytest.raises(InputError, match=words):
        policy.update(slate, [1, 0, 1, 0], seen=seen)

    assert policy.state() == before


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            catalogue_of(1, called="film"),
            r"`slate` has 'film \d+' in row \d+, and Catalogue\(12 items.* from another catalogue",
        ),
        (catalogue_of(1, d=5), r"`slate` must have features .* got \(12, 5\) and \(12, 1\): it is"),
        (catalogue_of(0), r"`slate` must have features .* got \(12, 4\) and \(12, 0\): it is"),
        (catalogue_of(4), r"`slate` must have features .* got \(12, 4\) and \(12, 4\): it is"),
        (grown(catalogue_of(1), more=4), r"`slate` has 'new \d+' in row 1[2-5], and "),
    ],
    ids=["ids", "features", "no distance", "more distances", "items not here yet"],
)
def test_the_slate_of_another_catalogue(
    make: Make, catalogue: Catalogue, other: Catalogue, words: str
) -> None:
    policy = played(make(catalogue))
    slate = make(other).recommend(12, candidates=range(len(other) - 12, len(other)), rng=0)
    before = policy.state()

    with pytest.raises(InputError, match=words):
        policy.update(slate, np.ones(12))
    with pytest.raises(InputError, match=words):
        policy.explain(slate)

    assert policy.state() == before


@pytest.mark.parametrize("name", ["lmdt", "epsilon-greedy", "dc2b", "comblints", "uniform"])
def test_an_rng_that_is_none(make: Make, catalogue: Catalogue) -> None:
    with pytest.raises(InputError, match=r"`rng` must be a numpy Generator or a seed, got 'dice'"):
        make(catalogue).recommend(2, rng="dice")


@pytest.mark.parametrize("name", sorted(set(POLICIES) - WITH_DIAL))
def test_a_dial_for_a_policy_that_takes_none(make: Make, catalogue: Catalogue) -> None:
    policy = played(make(catalogue))
    words = rf"`dial` must be None for {policy.name}, .*: lmdp, lmdt, lmdh, lmdh-greedy accept one"

    with pytest.raises(InputError, match=words):
        policy.recommend(2, rng=0, dial=Dial())
    with pytest.raises(InputError, match=words):
        policy.explain(policy.recommend(2, rng=0), dial=Dial())


def test_a_dial_that_is_none(make: Make, catalogue: Catalogue) -> None:
    policy: Any = make(catalogue)

    with pytest.raises(InputError, match=r"`dial` must be a Dial or None, got 0\.5"):
        policy.recommend(2, rng=0, dial=0.5)


def test_a_wrong_normaliser(make: Make, catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError, match=r"`normaliser` must be .*: did you mean 'growing'\?"):
        make(catalogue, normaliser="groing")


def test_an_unknown_policy_names_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(NotFoundError, match=r"got 'lmhd': did you mean 'lmdh'\?"):
        make_policy("lmhd", catalogue)


def test_an_unknown_option_names_the_nearest(make: Make, catalogue: Catalogue, name: str) -> None:
    with pytest.raises(NotFoundError, match=rf"`option of {name}` .* mean 'normaliser'\?"):
        make(catalogue, normalizer="none")
