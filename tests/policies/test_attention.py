"""Where users look, as an option: what of a list teaches, and what does not."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from variegate import LMDH, LMDP, Catalogue
from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.policies.attention import Cascade, FullAttention, PositionBased, checked_attention

FEATURES = np.arange(1.0, 9.0).reshape(4, 2)
ALL = np.arange(4)


def items(m: int = 1) -> Catalogue:
    rng = np.random.default_rng(0)
    return Catalogue(range(12), rng.random((12, 3)), ["cosine", "euclidean", "angular"][:m])


def sums(policy: LMDH) -> dict[str, FloatArray]:
    return dict(policy.state().arrays)


def test_all_that_was_seen_teaches_by_default() -> None:
    rewards = np.array([0.0, 1.0, 0.0, 1.0])

    rows, answers = FullAttention().observations(FEATURES, rewards, np.array([1, 2]))

    assert rows.tolist() == [[3.0, 4.0], [5.0, 6.0]]
    assert answers.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("rewards", "looked"),
    [
        ([1.0, 1.0, 1.0, 1.0], 1),
        ([0.0, 1.0, 0.0, 1.0], 2),
        ([0.0, 0.0, 0.0, 0.5], 4),
        ([0.0, 0.0, 0.0, 0.0], 4),
    ],
)
def test_a_cascade_ends_at_the_first_click(rewards: list[float], looked: int) -> None:
    rows, answers = Cascade().observations(FEATURES, np.array(rewards), ALL)

    assert rows.tolist() == FEATURES[:looked].tolist()
    assert answers.tolist() == rewards[:looked]


def test_a_cascade_goes_by_the_positions_stated_to_be_seen() -> None:
    rewards = np.array([1.0, 0.0, 1.0, 0.0])

    rows, answers = Cascade().observations(FEATURES, rewards, np.array([1, 2, 3]))

    assert rows.tolist() == FEATURES[1:3].tolist()
    assert answers.tolist() == [0.0, 1.0]


def test_a_cascade_of_nothing_seen_is_nothing() -> None:
    rows, answers = Cascade().observations(FEATURES, np.ones(4), np.array([], dtype=np.intp))

    assert rows.shape == (0, 2)
    assert answers.shape == (0,)


def test_examination_scales_the_features_and_leaves_the_clicks() -> None:
    looks = PositionBased(np.array([1.0, 0.5, 0.25, 0.125, 0.1]))

    rows, answers = looks.observations(FEATURES, np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 3]))

    assert rows.tolist() == [[1.0, 2.0], [7.0 / 8, 1.0]]
    assert answers.tolist() == [0.0, 1.0]


def test_estimates_by_examination_have_no_bias() -> None:
    # Each position's clicks are as many as the model says, times the chance of a look.
    chances = np.array([1.0, 0.6, 0.3, 0.2])
    policy = LMDH(items(), ridge=1e-9, attention=chances.tolist())
    eta = np.array([0.3, 0.1, 0.2, 0.15])
    rng = np.random.default_rng(1)
    for _ in range(8):
        slate = policy.recommend(4, candidates=rng.choice(12, 6, replace=False))
        gains = np.hstack([slate.relevance, slate.diversity]) @ eta
        policy.update(slate, chances * gains)

    found = policy.preferences

    np.testing.assert_allclose(np.append(found.relevance, found.diversity), eta, rtol=1e-5)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=5, max_size=5))
def test_a_cascade_is_what_seen_positions_say(rewards: list[float]) -> None:
    by_option, by_hand = LMDH(items(), attention="cascade"), LMDH(items())
    slate = by_hand.recommend(5)
    looked = rewards.index(1.0) + 1 if 1.0 in rewards else 5

    by_option.update(slate, rewards)
    by_hand.update(slate, rewards, seen=np.arange(looked))

    assert by_option.state() == by_hand.state()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.booleans(), min_size=4, max_size=4))
def test_sure_looks_are_looks_at_all(seen: list[bool]) -> None:
    examined, plain = LMDH(items(), attention=[1.0] * 4), LMDH(items())
    slate, rewards = plain.recommend(4), [1, 0, 1, 0]

    examined.update(slate, rewards, seen=seen)
    plain.update(slate, rewards, seen=seen)

    assert examined.state() == plain.state()


def test_positions_after_the_first_click_do_not_count_as_seen() -> None:
    # They once did, and the floor rose by what nobody looked at.
    policy = LMDP(items(), attention="cascade")

    policy.update(policy.recommend(5), [0, 1, 0, 0, 0])

    assert sums(policy)["seen"].tolist() == [2.0]


def test_a_list_longer_than_the_chances_teaches_nothing() -> None:
    policy = LMDH(items(), attention=[1.0, 0.5])
    policy.update(policy.recommend(2), [1, 0])
    before, slate = policy.state(), policy.recommend(3)

    with pytest.raises(
        InputError, match=r"`attention` has probabilities for 2 positions, and the list has 3"
    ):
        policy.update(slate, [1, 0, 0])

    assert policy.state() == before


@pytest.mark.parametrize("m", [0, 3])
@pytest.mark.parametrize("attention", ["all", "cascade", [1.0, 0.5, 0.2]])
def test_any_number_of_distances(m: int, attention: Any) -> None:
    policy = LMDH(items(m), attention=attention)

    policy.update(policy.recommend(3), [0, 0, 1])

    assert policy.preferences.diversity.shape == (m,)
    assert (policy.preferences.relevance != 0.0).all()


@pytest.mark.parametrize(
    ("attention", "words"),
    [
        (
            "everything",
            r"`attention` must be \"all\", \"cascade\" or a probability .*, got 'everything'",
        ),
        ([], r"`attention` must hold probabilities above 0 and at most 1, got \[\]"),
        (
            [1.0, 0.0],
            r"`attention` must hold probabilities above 0 and at most 1, got \[1\.0, 0\.0\]",
        ),
        ([1.5], r"`attention` must hold probabilities above 0 and at most 1, got \[1\.5\]"),
        ([0.5, np.nan], r"`attention` must be finite, got nan at \[1\]"),
        (0.5, r"`attention` must have 1 axes, got shape \(\)"),
        (None, r"`attention` must have 1 axes, got shape \(\)"),
        (["a"], r"`attention` must be an array of numbers"),
    ],
)
def test_attention_that_makes_no_sense(attention: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        LMDH(items(), attention=attention)


def test_attention_is_one_of_its_kinds() -> None:
    mine = Cascade()

    assert checked_attention(mine) is mine
    assert isinstance(checked_attention("all"), FullAttention)
    assert isinstance(checked_attention("cascade"), Cascade)


def test_chances_cannot_be_changed_from_outside() -> None:
    chances = np.array([1.0, 0.5])
    looks = checked_attention(chances)
    chances[:] = 0.1

    assert isinstance(looks, PositionBased)
    assert looks.probabilities.tolist() == [1.0, 0.5]
    assert not looks.probabilities.flags.writeable
