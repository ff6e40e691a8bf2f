"""Every route through a client, from a real service."""

import inspect
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from tests.client.asking import Asking
from variegate.client import (
    AsyncClient,
    AtLeast,
    Client,
    Constraints,
    Diversity,
    FailedSlate,
    Slate,
    WeightEstimate,
    Words,
    encoding,
    routes,
)
from variegate.client.parsing import parser
from variegate.client.transport import Call
from variegate.errors import ConflictError, DataError, InputError, NotFoundError
from variegate.policies.lmdp import DEFAULT_PRIOR_FLOOR

NIGHT = datetime(2023, 11, 14, 22, 13, tzinfo=UTC)
#: One call of every function that makes them.
CALLS: dict[str, Callable[[], Call[Any]]] = {
    "recommend": lambda: routes.recommend("_"),
    "recommend_many": lambda: routes.recommend_many(["_"]),
    "feedback": lambda: routes.feedback("_", {}),
    "add_event": lambda: routes.add_event("_", {}),
    "user": lambda: routes.user("_"),
    "history": lambda: routes.history("_"),
    "forget": lambda: routes.forget("_"),
    "export_users": routes.export_users,
    "import_users": lambda: next(routes.import_users([{}])),
    "catalogue": routes.catalogue,
    "items": routes.items,
    "item": lambda: routes.item("_"),
    "add_items": lambda: routes.add_items([]),
    "change_item": lambda: routes.change_item("_"),
    "patch_item": lambda: routes.patch_item("_"),
    "retire_item": lambda: routes.retire_item("_"),
    "import_items": lambda: routes.import_items([]),
    "retire_items": lambda: routes.retire_items(["_"]),
    "restore_items": lambda: routes.restore_items(["_"]),
    "report": routes.report,
    "prior": lambda: routes.prior("_"),
    "fit_prior": lambda: routes.fit_prior("_"),
    "drop_prior": lambda: routes.drop_prior("_"),
    "metrics": routes.metrics,
    "ping": routes.ping,
    "alive": routes.alive,
    "ready": routes.ready,
}
SAMURAI = "tt0047478"


def test_every_route_has_a_method(address: str) -> None:
    paths = httpx2.get(f"{address}/openapi.json", timeout=60).json()["paths"]
    served = {
        (method.upper(), re.sub(r"\{\w+\}", "_", path)) for path in paths for method in paths[path]
    }

    made = {(call.method, call.path.split("?")[0]) for call in (make() for make in CALLS.values())}

    assert made == served


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_both_clients_have_every_method_described(kind: type) -> None:
    methods = {name: getattr(kind, name) for name in CALLS}
    assert [name for name, method in methods.items() if method.__name__ != name] == []
    assert [name for name, method in methods.items() if not inspect.getdoc(method)] == []
    firsts = {next(iter(inspect.signature(method).parameters)) for method in methods.values()}
    assert firsts == {"self"}


def test_methods_tell_their_arguments() -> None:
    assert str(inspect.signature(Client.feedback)).startswith("(self, /, slate: ")
    assert list(inspect.signature(Client("http://h").user).parameters) == ["user"]


def test_lists_of_many_users_come_line_by_line(both: Asking, user: str) -> None:
    users = [f"{user} {number}" for number in range(3)]
    key = f"{both.kind}-many"
    found = {one.user: one for one in both("recommend_many", users, 2, idempotency_key=key)}

    assert sorted(found) == users
    assert all(isinstance(one, Slate) and len(one.ids) == 2 for one in found.values())
    again = both("recommend_many", users[1:], 3, idempotency_key=key)
    assert [one.error.kind for one in again if isinstance(one, FailedSlate)] == ["conflict"] * 2


def test_rules_reach_the_service(both: Asking, user: str) -> None:
    new = {"attribute": "year", ">=": 2010}
    constraints = Constraints(at_least=[AtLeast(where=new, n=4)], pins={"2": SAMURAI}, relax=True)
    slate = both("recommend", user, 4, constraints=constraints, exclude=["gone"], details=True)

    assert (slate.ids[1], slate.unknown_ids) == (SAMURAI, ("gone",))
    (relaxed,) = slate.relaxed
    assert (relaxed.constraint, relaxed.asked, relaxed.used) == ("at_least.0", 4, 3)
    only = both("recommend", user, 2, where=new, constraints={"at_most": {"year": 1}}, details=True)
    years = [(one.attributes or {})["year"] for one in only.items]
    assert min(map(float, years)) >= 2010
    assert len(set(years)) == 2
    found = both("items", where={"and": [new, {"attribute": "year", "<": 2011}]})
    assert {item.attributes["year"] for item in found} == {2010}
    with pytest.raises(InputError, match="`exclude` must be known ids with `strict`, got 'gone'"):
        both("recommend", user, exclude=["gone"], strict=True)


def test_a_list_has_what_was_asked_for(both: Asking, user: str) -> None:
    slate = both("recommend", user, 3)

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


def test_event_is_learnt_once(ask: Asking, user: str) -> None:
    first = ask("add_event", user, {SAMURAI: 1}, event="order 1", time=NIGHT)
    again = ask("add_event", user, {SAMURAI: 1}, event="order 1", time=NIGHT)

    assert again == first
    assert (first.user, first.learnt) == (user, (SAMURAI,))
    (line,) = (line for line in ask("export_users") if line.get("user") == user)
    assert [event["kind"] for event in line["events"]] == ["interaction"]
    assert SAMURAI not in ask("recommend", user, 10).ids


def test_time_of_an_event_needs_a_zone(ask: Asking, user: str) -> None:
    with pytest.raises(InputError, match="`time` must have a time zone, such as UTC, got 2023-11"):
        ask("add_event", user, {SAMURAI: 1}, time=NIGHT.replace(tzinfo=None))
    with pytest.raises(InputError, match="`time`: must be from 1970 to 2106, got 1823-11-14"):
        ask("add_event", user, {SAMURAI: 1}, time=NIGHT.replace(year=1823))


def test_event_of_an_unknown_item_or_another_content_is_refused(ask: Asking, user: str) -> None:
    with pytest.raises(NotFoundError, match="`rewards`: no item 'tt'"):
        ask("add_event", user, {"tt": 1})
    with pytest.raises(NotFoundError, match="no user"):
        ask("user", user)
    ask("add_event", user, {SAMURAI: 1}, event="order 1", allow_repeats=True)

    with pytest.raises(ConflictError, match="`event` 'order 1' was used for another interaction"):
        ask("add_event", user, {SAMURAI: 0.5}, event="order 1", allow_repeats=True)


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

    result = ask("feedback", slate, {slate.ids[1]: 0.5}, seen=slate.ids[:2], event="e1")

    assert result.learnt == slate.ids[:2]


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


def test_what_was_learnt_comes_in_words_and_numbers(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 3, candidates=[SAMURAI])
    ask("feedback", slate, {SAMURAI: 1})

    found = ask("user", user)

    assert found.slates == 1
    assert "History" in found.learnt.words.likes
    weights = {belief.name: belief for belief in found.learnt.relevance}
    assert weights["Japan"].low < 0 < weights["Japan"].weight < weights["Japan"].high
    assert [belief.name for belief in found.learnt.diversity][1] == "genres"
    # The floor of lmdp, shared by four distances.
    assert found.learnt.floor == pytest.approx(DEFAULT_PRIOR_FLOOR / 4)


def test_history_goes_over_pages_newest_first(
    both: Asking, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_SLATES_PER_PAGE", 2)
    slates = [both("recommend", user, 1) for _ in range(5)]
    both("feedback", slates[-1], {slates[-1].ids[0]: 1})

    past = both("history", user)

    assert [one.slate_id for one in past] == [one.slate_id for one in slates[::-1]]
    assert [one.items[0].reward for one in past] == [1.0, None, None, None, None]
    assert past[0].items[0].learnt
    assert past[0].earned == 1.0


def test_a_forgotten_user_is_not_found(ask: Asking, user: str) -> None:
    ask("recommend", user, 1)

    assert ask("forget", user) is None
    with pytest.raises(NotFoundError, match="no user"):
        ask("user", user)


def test_an_unknown_user_cannot_be_forgotten(ask: Asking, user: str) -> None:
    with pytest.raises(NotFoundError, match="no user"):
        ask("forget", user)


def exported(ask: Asking, name: str) -> dict[str, Any]:
    (found,) = [one for one in ask("export_users") if one.get("user") == name]
    return dict(found)


def test_users_go_out_and_come_in_whole(both: Asking, user: str) -> None:
    slate = both("recommend", user, 3)
    both("feedback", slate, {slate.ids[0]: 1})
    learnt, line = both("user", user).learnt, exported(both, user)
    header = both("export_users")[0]
    both("forget", user)

    assert both("import_users", [header, line]) == 1
    assert both("user", user).learnt == learnt
    assert exported(both, user) == line


def test_a_user_that_is_here_is_replaced_only_where_asked_for(ask: Asking, user: str) -> None:
    ask("recommend", user, 1)
    line = exported(ask, user)

    assert ask("import_users", [line]) == 1
    ask("recommend", user, 1)
    with pytest.raises(ConflictError, match="exists with other content"):
        ask("import_users", [line])
    assert ask("import_users", [line], replace=True) == 1


def test_many_users_are_sent_in_pieces(
    both: Asking, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{user} {number}" for number in range(5)]
    for name in names:
        both("recommend", name, 1)
    lines = [one for one in both("export_users") if one.get("user") in names]
    for name in names:
        both("forget", name)
    monkeypatch.setattr(encoding, "_IMPORT_BYTES", 2 * len(json.dumps(lines[0])))

    pieces = list(routes.import_users(lines))

    assert 2 <= len(pieces) < 5
    assert both("import_users", lines) == 5
    assert [both("user", name).slates for name in names] == [1] * 5


def test_no_users_are_no_request(ask: Asking) -> None:
    assert ask("import_users", []) == 0


def test_lines_that_were_not_exported_are_refused(ask: Asking) -> None:
    with pytest.raises(InputError, match=r"\(request .+\)$"):
        ask("import_users", [{"user": "x"}])


def test_a_title_with_a_line_separator_does_not_split_a_user(ask: Asking) -> None:
    # U+2028 and U+0085 end a line for `str.splitlines`, and for httpx, but not for JSON lines.
    odd = "a\u2028b\u0085c"
    ask("recommend", "x\u2028y", 1)
    slate = ask("recommend", "odd event", 1)
    ask("feedback", slate, {}, event=odd)

    assert exported(ask, "odd event")["events"][-1]["body"]["event"] == odd
    assert exported(ask, "x\u2028y")["slates"] >= 1


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
    assert ask("patch_item", new, attributes={"year": None}, features={"War": 1.0}) == (new,)
    patched = ask("item", new)
    assert (patched.title, patched.attributes["year"]) == ("Alien 10", None)
    assert sum(patched.features) == 2.0
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


def test_what_users_begin_with_is_reported(ask: Asking) -> None:
    prior = ask("prior", "lmdp")

    assert (prior.policy, prior.version, prior.fitted, prior.users) == ("lmdp", 0, None, 0)
    assert prior.relevance[-1].name == "popularity"
    assert prior.relevance[-1].mean > 0 == prior.relevance[0].mean
    assert ask("drop_prior", "lmdp") == prior
    with pytest.raises(ConflictError, match="at least 100 users with feedback"):
        ask("fit_prior", "lmdp")


def test_the_service_is_alive_and_ready(both: Asking) -> None:
    assert both("alive") is True
    assert both("ready") is True
    assert both("ping") is None
    assert "variegate_requests_total" in both("metrics")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "the response must be JSON: `url` must be the address"),
        (b"\xff", "the response must be JSON"),
        (b"[]", r"the response's `body` is invalid: .* got \[\]"),
        (b'{"likes": "x"}', "the response's `variety` is invalid: Field required"),
        (b'{"likes": 3, "variety": "x"}', "the response's `likes` is invalid: .* string, got 3"),
    ],
)
def test_a_response_that_does_not_match_the_schema_is_an_error(body: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parser(Words)(body)


def test_an_invalid_field_is_named_by_its_place() -> None:
    item = '{"id": "a", "title": "b", "score": true, "shown_before": false}'
    body = f'{{"slate_id": "s", "user": "u", "policy": "p", "items": [{item}], "diversity": {{}}}}'

    with pytest.raises(DataError, match=r"`items\.0\.score` is invalid: .* number, got True"):
        parser(Slate)(body.encode())


def test_a_field_of_a_newer_service_is_ignored() -> None:
    body = b'{"likes": "Japan", "variety": "", "tomorrow": [1, {"a": null}]}'

    assert parser(Words)(body) == Words(likes="Japan", variety="")


def test_an_integer_is_accepted_as_a_number() -> None:
    body = b'{"name": "x", "label": "x", "weight": 1, "low": 0, "high": 2}'

    assert isinstance(parser(WeightEstimate)(body).weight, float)


@pytest.mark.parametrize("line", [b"<html>", b"[]"])
def test_a_line_of_an_export_must_be_an_object(line: bytes) -> None:
    with pytest.raises(DataError, match="must be"):
        routes.export_users().parse(line)
