"""Lists and feedback through the clients, from a real service."""

import pytest

from tests.client.asking import Asking
from variegate.client import Diversity, Slate
from variegate.errors import ConflictError, InputError, NotFoundError


def test_a_list_has_what_was_asked_for(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 3)

    assert isinstance(slate, Slate)
    assert (slate.user, slate.policy, len(slate.ids)) == (user, "lmdp", 3)
    assert slate.items[0].title
    assert slate.items[0].explanation is None


def test_an_explanation_sums_to_the_score(ask: Asking, user: str) -> None:
    top = ask("recommend", user, k=2, explain=True).items[1]

    parts = top.explanation.relevance + sum(top.explanation.diversity.values())
    assert parts + top.explanation.exploration == pytest.approx(top.score)


def test_candidates_and_exclusions_are_kept(ask: Asking, user: str) -> None:
    among = ask("recommend", user, 5).ids

    slate = ask("recommend", user, 5, candidates=among, exclude=among[:2], allow_repeats=True)

    assert set(slate.ids) == set(among[2:])
    assert all(item.shown_before for item in slate.items)


@pytest.mark.parametrize("diversity", [Diversity(floor=3.0), {"floor": {"genres": 3.0}}])
def test_the_dial_reaches_the_service(
    ask: Asking, user: str, diversity: Diversity | dict[str, object]
) -> None:
    dialled = ask("recommend", user, 3, diversity=diversity, explain=True).items[1]

    assert dialled.explanation.diversity["genres"] > 0


@pytest.mark.parametrize("by_id", [True, False])
def test_feedback_is_learnt_once(ask: Asking, user: str, by_id: bool) -> None:
    slate = ask("recommend", user, 3)
    named = slate.slate_id if by_id else slate

    first = ask("feedback", named, {slate.ids[0]: 1})
    again = ask("feedback", named, {slate.ids[0]: 1})

    assert (first.status, first.learnt) == ("learnt", slate.ids)
    assert again == first


def test_what_was_not_seen_is_not_learnt(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 4)

    told = ask("feedback", slate, {slate.ids[1]: 0.5}, seen=slate.ids[:2], event="e1")

    assert told.learnt == slate.ids[:2]


def test_a_contradiction_is_a_conflict(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 2)
    ask("feedback", slate, {slate.ids[0]: 1})

    with pytest.raises(ConflictError, match=r"has earned 1.0 already, got 0.5.*\(request .+\)$"):
        ask("feedback", slate, {slate.ids[0]: 0.5})


def test_what_the_service_refuses_is_an_input_error(ask: Asking, user: str) -> None:
    with pytest.raises(InputError, match=r"`k` must be .*\(request .+\)$"):
        ask("recommend", user, 0)


def test_a_slate_that_was_never_given_is_not_found(ask: Asking) -> None:
    with pytest.raises(NotFoundError, match="no slate '01NEVER'"):
        ask("feedback", "01NEVER", {})


@pytest.mark.parametrize("name", ["..", ".", "a b", "ü?#%&=+", "%2F", "名", "a.b@c"])
def test_odd_names_of_users_arrive_whole(ask: Asking, name: str) -> None:
    assert ask("recommend", name, 1).user == name
    assert ask("user", name).user == name


@pytest.mark.parametrize("name", ["", "\ud800", 7])
def test_names_that_no_path_can_hold_are_refused_before_sending(ask: Asking, name: object) -> None:
    with pytest.raises(InputError, match=r"`user` must be text"):
        ask("recommend", name)


def test_ids_in_one_text_are_refused(ask: Asking, user: str) -> None:
    with pytest.raises(InputError, match="`exclude` must be several ids, got the text 'tt1'"):
        ask("recommend", user, exclude="tt1")


@pytest.mark.parametrize("rewards", [["tt1"], {"tt1": "much"}])
def test_rewards_must_be_numbers_by_id(ask: Asking, rewards: object) -> None:
    with pytest.raises(InputError, match="`rewards` must be numbers by item id"):
        ask("feedback", "01A", rewards)


def test_a_number_that_json_cannot_hold_is_refused(ask: Asking) -> None:
    with pytest.raises(InputError, match="`rewards` must be what JSON can hold"):
        ask("feedback", "01A", {"tt1": float("nan")})
