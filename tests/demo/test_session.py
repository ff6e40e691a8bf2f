"""A session: every list is new, answers teach, and a mistake changes nothing."""

import numpy as np
import pytest

from tests.demo.making import boxes, many_boxes
from variegate import LMDH, make_policy
from variegate.demo import Session
from variegate.errors import InputError


def test_lists_never_repeat_an_item_and_the_last_is_what_is_left() -> None:
    session = Session(LMDH(boxes(), ridge=1.0), k=4)

    first = session.slate().ids
    session.answer([0])
    second = session.slate().ids
    session.answer([])

    assert (len(first), len(second)) == (4, 2)
    assert sorted(first + second) == list("abcdef")
    assert session.is_over


def test_a_list_stays_until_it_is_answered() -> None:
    session = Session(make_policy("uniform", many_boxes()), k=5, rng=1)
    assert session.slate() is session.slate()


def test_one_seed_gives_one_session_and_another_seed_another() -> None:
    first, again, other = (
        Session(make_policy("uniform", many_boxes()), k=5, rng=seed).slate().ids
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_picks_are_rewards_of_one_and_are_remembered() -> None:
    session = Session(LMDH(boxes(), ridge=1.0), k=3)

    turn = session.answer([2, 0, 2])

    np.testing.assert_array_equal(turn.rewards, [1.0, 0.0, 1.0])
    assert (turn.hits, session.hits) == (2, (2,))
    assert session.picked == tuple(int(row) for row in turn.slate.items[[0, 2]])


def test_answers_teach_the_policy() -> None:
    session = Session(LMDH(many_boxes(), ridge=1.0, exploration=0.3), k=4)
    for _ in range(4):
        slate = session.slate()
        session.answer([p for p, item in enumerate(slate.ids) if int(item) % 2 == 0])
    red, blue = session.policy.preferences.relevance
    assert red > blue
    assert session.hits[-1] > session.hits[0]


def test_a_wrong_pick_is_refused_and_nothing_is_lost() -> None:
    session = Session(LMDH(boxes(), ridge=1.0), k=3)
    before, waiting = session.policy.state(), session.slate()

    with pytest.raises(InputError, match="`picks` must be from 0 to 2, got 3"):
        session.answer([0, 3])

    assert session.policy.state() == before
    assert session.slate() is waiting
    assert session.turns == []


def test_there_is_no_list_after_the_last() -> None:
    session = Session(LMDH(boxes()), k=6)
    session.answer([])
    with pytest.raises(InputError, match=r"every item of .* was shown: start a new session"):
        session.slate()


@pytest.mark.parametrize("k", [0, 7])
def test_lists_longer_than_the_catalogue_are_refused(k: int) -> None:
    with pytest.raises(InputError, match=rf"`k` must be from 1 to 6 \(the items\), got {k}"):
        Session(LMDH(boxes()), k=k)
