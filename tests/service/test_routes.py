"""Every route of the service's work: its answer and its status."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.service.caller import Caller, Json, error
from tests.service.whole import ITEMS, service

NEW: dict[str, Any] = {
    "title": "New",
    "attributes": {"maker": None},
    "features": [9.0, 9.0, 9.0],
    "distances": {"kinds": ["ale"], "colour": "blue", "price": 4},
}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with service(tmp_path_factory.mktemp("routes"), policies={"a": "lmdh", "b": "mmr"}) as whole:
        yield Caller(*whole)


class TestLists:
    def test_a_list_meets_a_condition_and_constraints(self, caller: Caller) -> None:
        us, them = ({"attribute": "maker", "=": maker} for maker in ("us", "them"))
        asked = {
            "at_most": {"maker": 2},
            "at_least": [{"where": them, "n": 3}],
            "pins": {"3": "item-4"},
            "relax": True,
        }
        given = caller.slate("ruled", k=4, constraints=asked, exclude=["nope"])
        assert given["items"][2]["id"] == "item-4"
        assert given["relaxed"] == [{"constraint": "at_least.0", "asked": 3, "used": 2}]
        assert given["unknown_ids"] == ["nope"]
        only = caller.slate("ruled", k=3, where=us)
        assert all(int(item["id"].removeprefix("item-")) % 2 == 0 for item in only["items"])

    def test_all_that_is_wrong_is_said_at_once(self, caller: Caller) -> None:
        body: Json = {
            "k": 0,
            "where": {"attribute": "maker", "~": 1},
            "constraints": {"at_most": {"maker": 0}, "pins": {"0": "item-1"}},
        }
        message = error(caller.send("POST", "/v1/users/ann/slates", body), 422)
        for words in (
            "`k` must be greater than or equal to 1, got 0",
            "`where` must compare by one of",
            "`constraints.at_most.maker` must be greater than or equal to 1, got 0",
            "`constraints.pins`: must be ids by position, from 1 on, got position '0'",
        ):
            assert words in message
        body = {"constraints": {"at_least": [{"where": {"not": 3}, "n": 1}]}}
        message = error(caller.send("POST", "/v1/users/ann/slates", body), 422)
        assert message.startswith("`constraints.at_least.0.where.not` must be an object such as")

    def test_a_body_may_be_left_out(self, caller: Caller) -> None:
        given = caller.get("POST", "/v1/users/no-body/slates", status=201)
        assert len(given["items"]) == 3
        assert given["user"] == "no-body"

    def test_everything_can_be_asked_for(self, caller: Caller) -> None:
        dial = {"scale": 2.0, "floor": {"colour": 0.1}, "ceiling": 5}
        user = next(u for u in map(str, range(99)) if caller.engine.experiment.assign(u) == "a")
        given = caller.slate(
            user,
            k=2,
            candidates=["item-1", "item-2", "item-3"],
            exclude=["item-3"],
            diversity=dial,
            explain=True,
            allow_repeats=True,
        )
        assert {item["id"] for item in given["items"]} == {"item-1", "item-2"}
        for item in given["items"]:
            why = item["explanation"]
            total = why["relevance"] + sum(why["diversity"].values()) + why["exploration"]
            assert total == pytest.approx(item["score"], abs=1e-12)

    def test_feedback_is_answered_the_same_again(self, caller: Caller) -> None:
        given = caller.slate("feedback")
        liked = given["items"][0]["id"]
        body = {"rewards": {liked: 1}, "seen": [liked], "event": "e1"}
        path = f"/v1/slates/{given['slate_id']}/feedback"
        first = caller.get("POST", path, body)
        assert first == {"slate_id": given["slate_id"], "status": "learnt", "learnt": [liked]}
        assert caller.get("POST", path, body) == first
        again = caller.send("POST", path, {"rewards": {liked: 0}})
        assert "has earned 1.0 already" in error(again, 409)

    @pytest.mark.parametrize(
        ("path", "body", "status"),
        [
            ("/v1/users/ann/slates", {"k": 0}, 422),
            ("/v1/users/ann/slates", {"k": 101}, 422),
            ("/v1/users/ann/slates", {"k": "3"}, 422),
            ("/v1/users/ann/slates", {"k": 10**400}, 422),
            ("/v1/users/ann/slates", {"nope": 1}, 422),
            ("/v1/users/ann/slates", {"candidates": ["nope"]}, 422),
            ("/v1/users/ann/slates", {"where": {"attribute": "nope", "=": 1}}, 422),
            ("/v1/users/ann/slates", {"exclude": ["nope"], "strict": True}, 422),
            ("/v1/users/ann/slates", {"candidates": []}, 422),
            ("/v1/users/ann/slates", {"candidates": ["\ud800"]}, 400),
            ("/v1/users/ann/slates", {"diversity": {"scale": -1}}, 422),
            ("/v1/users/ann/slates", {"diversity": {"floor": 2, "ceiling": 1}}, 422),
            ("/v1/users/ann/slates", b"{", 400),
            ("/v1/users/ann/slates", b"[]", 422),
            ("/v1/users/a%00b/slates", {}, 400),
            ("/v1/users/a%07b/slates", {}, 422),
            (f"/v1/users/{'x' * 201}/slates", {}, 422),
            ("/v1/slates/nope/feedback", {}, 404),
            ("/v1/slates/a.b/feedback", {}, 422),
            ("/v1/slates/nope/feedback", {"rewards": {"item-1": 1.5}}, 422),
            ("/v1/slates/nope/feedback", b'{"rewards": {"item-1": NaN}}', 422),
        ],
    )
    def test_what_will_not_do_is_reported(
        self, caller: Caller, path: str, body: Any, status: int
    ) -> None:
        before = caller.engine.counts()
        assert error(caller.send("POST", path, body), status)
        assert caller.engine.counts() == before


class TestUsers:
    def test_a_user_is_reported(self, caller: Caller) -> None:
        caller.slate("ada")
        user = caller.get("GET", "/v1/users/ada")
        assert (user["user"], user["slates"]) == ("ada", 1)
        assert len(user["learnt"]["relevance"]) == 3
        assert {one["name"] for one in user["learnt"]["diversity"]} >= {"kinds", "price"}

    def test_a_history_has_pages(self, caller: Caller) -> None:
        first, second = caller.slate("paged"), caller.slate("paged")
        page = caller.get("GET", "/v1/users/paged/history?limit=1")
        older = caller.get("GET", f"/v1/users/paged/history?limit=1&before={page['next']}")
        result = [one["slate_id"] for one in page["slates"] + older["slates"]]
        assert sorted(result) == sorted([first["slate_id"], second["slate_id"]])

    def test_a_forgotten_user_is_gone(self, caller: Caller) -> None:
        caller.slate("brief")
        assert caller.get("DELETE", "/v1/users/brief") == {"user": "brief", "forgotten": True}
        for method, path in (
            ("GET", "/v1/users/brief"),
            ("GET", "/v1/users/brief/history"),
            ("DELETE", "/v1/users/brief"),
        ):
            assert "no user 'brief'" in error(caller.send(method, path), 404)

    def test_ids_are_data(self, caller: Caller) -> None:
        user = "o'hara; DROP TABLE users--é✓"
        assert caller.slate(user)["user"] == user
        assert caller.get("GET", f"/v1/users/{user}")["user"] == user
        assert caller.get("DELETE", f"/v1/users/{user}")["user"] == user

    @pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "before="])
    def test_a_page_that_is_none_is_reported(self, caller: Caller, query: str) -> None:
        caller.slate("ada")
        assert error(caller.send("GET", f"/v1/users/ada/history?{query}"), 422)

    def test_what_is_exported_can_be_imported(self, caller: Caller) -> None:
        caller.slate("mover é")
        export = caller.send("GET", "/v1/export")
        assert export.status_code == 200
        assert export.headers["content-type"].startswith("application/x-ndjson")
        _header, *lines = export.content.splitlines()
        users = caller.engine.counts()["users"]
        answer = caller.get("POST", "/v1/import", export.content)
        assert answer == {"imported": users, "items": len(lines) - users}
        assert caller.send("GET", "/v1/export").content.splitlines()[1:] == lines
        caller.slate("mover é")
        refused = error(caller.send("POST", "/v1/import", export.content), 409)
        assert "user 'mover é' exists with other content" in refused
        assert caller.get("POST", "/v1/import?replace=true", export.content) == answer
        assert caller.send("GET", "/v1/export").content.splitlines()[1:] == lines

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            (b"{", "line 1: must be a line of JSON"),
            (b"\n\n[]\n", "line 3: must be an object, got list"),
            (b"{}\n", "line 1: `variegate` must be 1 or 2, got 'None'"),
            (b'{"variegate": 1}', "line 1: `lists` is missing"),
            (b'{"variegate": 2, "kind": "none"}', "line 1: `kind` must be one of export, item, "),
            (b"\xff\xfe", "line 1: must be a line of JSON"),
            (b"[" * 100_000, "line 1: must be a line of JSON"),
            (b"[" * 400_000, "line 1: must take at most 32000000 bytes of memory"),
        ],
    )
    def test_an_import_that_is_none_is_reported(
        self, caller: Caller, body: bytes, words: str
    ) -> None:
        assert words in error(caller.send("POST", "/v1/import", body), 422)

    def test_an_empty_import_is_no_user(self, caller: Caller) -> None:
        assert caller.get("POST", "/v1/import", b"\n") == {"imported": 0, "items": 0}

    def test_an_import_may_be_larger_than_other_bodies(self, caller: Caller) -> None:
        assert caller.get("POST", "/v1/import", b" \n" * 600_000) == {"imported": 0, "items": 0}
        body = {"exclude": ["item-1"] * 200_000}
        assert error(caller.send("POST", "/v1/users/ann/slates", body), 413)


class TestItems:
    def test_items_are_listed_and_found(self, caller: Caller) -> None:
        assert caller.get("GET", "/v1/catalogue")["features"] == [
            "feature 1",
            "feature 2",
            "feature 3",
        ]
        page = caller.get("GET", "/v1/items?search=ITEM&limit=5")
        assert (len(page["items"]), page["next"]) == (5, 5)
        rest = caller.get("GET", "/v1/items?search=item&limit=1000&after=5")
        assert len(rest["items"]) >= ITEMS - 5
        assert caller.get("GET", "/v1/items/item-3")["distances"]["kinds"] == ["tea"]

    def test_items_are_found_by_a_condition(self, caller: Caller) -> None:
        where = quote(json.dumps({"attribute": "maker", "=": "us"}))
        page = caller.get("GET", f"/v1/items?where={where}&limit=2")
        assert [item["attributes"] for item in page["items"]] == [{"maker": "us"}] * 2
        rest = caller.get("GET", f"/v1/items?where={where}&limit=1000&after={page['next']}")
        ids = [item["id"] for item in (*page["items"], *rest["items"])]
        assert ids == [f"item-{row}" for row in range(0, ITEMS, 2)]

    @pytest.mark.parametrize(
        ("where", "words"),
        [
            ("{", "`where` must be JSON: Expecting property name"),
            ('{"attribute": "makr", "=": 1}', "`where` must name one of maker, got 'makr'"),
            ('[{"not": 1}]', "`where` must be an object such as"),
        ],
    )
    def test_a_wrong_condition_is_refused(self, caller: Caller, where: str, words: str) -> None:
        assert words in error(caller.send("GET", f"/v1/items?where={quote(where)}"), 422)

    @pytest.mark.parametrize("name", ["plain", "with/slash", "ünï ✓", "a?b#c", "50%"])
    def test_an_item_comes_changes_and_goes(self, caller: Caller, name: str) -> None:
        path = f"/v1/items/{quote(name, safe='')}"
        assert "no item" in error(caller.send("GET", path), 404)
        assert caller.get("PUT", path, NEW) == {"items": [name]}
        assert caller.slate("eager", candidates=[name])["items"][0]["id"] == name
        assert caller.get("PUT", path, {"title": "Other"}) == {"items": [name]}
        item = caller.get("GET", path)
        assert (item["id"], item["title"], item["retired"]) == (name, "Other", False)
        assert item["features"] == NEW["features"]
        assert caller.get("DELETE", path) == {"id": name, "retired": True}
        assert caller.get("GET", path)["retired"]
        refused = caller.send("POST", "/v1/users/ann/slates", {"candidates": [name]})
        assert "not retired" in error(refused, 422)

    def test_several_come_at_once(self, caller: Caller) -> None:
        body = {"items": [{"id": "n1", **NEW}, {"id": "item-0", "title": "Zero"}]}
        assert caller.get("POST", "/v1/items", body) == {"items": ["n1", "item-0"]}
        assert caller.get("GET", "/v1/items/item-0")["title"] == "Zero"

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {**NEW, "features": [1.0]},
            {**NEW, "features": {"nope": 1.0}},
            {**NEW, "features": [1e7, 0, 0]},
            {**NEW, "attributes": {"nope": 1}},
            {**NEW, "attributes": {"maker": 10**400}},
            {**NEW, "attributes": {"maker": "\ud800"}},
            {**NEW, "attributes": {"maker": {"deep": 1}}},
            {**NEW, "distances": {"kinds": ["x"], "colour": "y"}},
            {**NEW, "distances": {**NEW["distances"], "nope": 1}},
            {**NEW, "distances": {**NEW["distances"], "\ud800": 1}},
            {**NEW, "distances": {**NEW["distances"], "price": "dear"}},
            {**NEW, "title": "x" * 1001},
            {**NEW, "id": "other"},
        ],
    )
    def test_an_item_that_does_not_fit_is_reported(self, caller: Caller, body: Json) -> None:
        total = caller.get("GET", "/v1/items")["total"]
        assert error(caller.send("PUT", "/v1/items/bad", body), 422)
        assert caller.get("GET", "/v1/items")["total"] == total

    def test_what_is_not_there_cannot_be_retired(self, caller: Caller) -> None:
        assert "no item 'nope'" in error(caller.send("DELETE", "/v1/items/nope"), 404)


def test_the_report_compares_the_policies(caller: Caller) -> None:
    for number in range(6):
        given = caller.slate(f"reported{number}")
        path = f"/v1/slates/{given['slate_id']}/feedback"
        caller.get("POST", path, {"rewards": {given["items"][0]["id"]: 1.0}})
    report = caller.get("GET", "/v1/report")
    assert [one["policy"] for one in report["policies"]] == ["a", "b"]
    assert report["differences"][0]["against"] == "a"
