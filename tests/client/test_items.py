"""Items and the service's own state through the clients."""

import pytest

from tests.client.asking import Asking
from variegate.client import routes
from variegate.errors import ConflictError, InputError, NotFoundError


def test_items_are_found_by_their_titles(ask: Asking) -> None:
    titles = [item.title for item in ask("items", "alien")]

    assert "Alien" in titles
    assert all("alien" in title.lower() for title in titles)


def test_items_go_over_pages(ask: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ask("items", "the ")
    monkeypatch.setattr(routes, "_ITEMS_PER_PAGE", 7)

    assert len(whole) > 14
    assert ask("items", "the ") == whole


def test_an_item_comes_with_its_data(ask: Asking) -> None:
    facts, film = ask("catalogue"), ask("item", "tt0078748")

    assert (film.title, film.attributes["year"], film.retired) == ("Alien", 1979, False)
    assert len(film.features) == len(facts.features)
    assert set(film.distances) <= set(facts.distances)


def test_an_item_can_be_added_changed_and_retired(ask: Asking, user: str) -> None:
    like = ask("item", "tt0078748")
    new = f"new/{ask.kind} ?"
    data = {"features": like.features, "distances": like.distances, "attributes": like.attributes}

    assert ask("add_items", [{"id": new, "title": "Alien 9", **data}]) == (new,)
    assert ask("recommend", user, 1, candidates=[new]).ids == (new,)
    assert ask("change_item", new, title="Alien 10", features={"Horror": 1.0}) == (new,)
    changed = ask("item", new)
    assert (changed.title, sum(changed.features)) == ("Alien 10", 1.0)
    assert ask("retire_item", new) is None
    assert ask("item", new).retired


def test_an_unknown_item_is_not_found(ask: Asking) -> None:
    with pytest.raises(NotFoundError, match="no item 'nothing'"):
        ask("item", "nothing")


def test_a_new_item_without_features_is_refused(ask: Asking) -> None:
    with pytest.raises(InputError, match="`features` must be given"):
        ask("add_items", [{"id": "bare"}])


def test_the_report_has_the_policy(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 2)
    ask("feedback", slate, {slate.ids[0]: 1})

    (policy,) = ask("report").policies

    assert policy.policy == "lmdp"
    assert policy.users >= 1
    assert 0 <= policy.reward.mean <= 1
    assert "genres" in policy.diversity


def test_what_users_begin_with_is_told(ask: Asking) -> None:
    prior = ask("prior", "lmdp")

    assert (prior.policy, prior.version, prior.fitted, prior.users) == ("lmdp", 0, None, 0)
    assert prior.relevance[-1].name == "popularity"
    assert prior.relevance[-1].mean > 0 == prior.relevance[0].mean
    assert ask("drop_prior", "lmdp") == prior
    with pytest.raises(ConflictError, match="at least 100 users with feedback"):
        ask("fit_prior", "lmdp")


def test_the_service_is_alive_and_ready(ask: Asking) -> None:
    assert ask("alive") is True
    assert ask("ready") is True
    assert ask("ping") is None
    assert "variegate_requests_total" in ask("metrics")
