"""The page's files, and what the page asks beside lists and feedback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from tests.service.shell import problem
from tests.service.whole import ITEMS, service, shop
from variegate.demo.simulation import MAX_POINTS, SimulatedUser
from variegate.model.utility import Utility
from variegate.service.keys import make_key


@pytest.fixture
def page(tmp_path: Path) -> Iterator[TestClient]:
    with service(tmp_path) as (app, _engine):
        yield TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a service that tests only read from."""
    with service(tmp_path_factory.mktemp("page")) as (app, _engine):
        yield TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def given(page: TestClient, user: str = "ann", **request: Any) -> dict[str, Any]:
    answer = page.post(f"/v1/users/{user}/slates", json=request)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ids(slate: dict[str, Any]) -> list[str]:
    return [item["id"] for item in slate["items"]]


def answer(page: TestClient, slate: dict[str, Any], *liked: str) -> Any:
    rewards = dict.fromkeys(liked, 1)
    return page.post(f"/v1/slates/{slate['slate_id']}/feedback", json={"rewards": rewards})


class TestFiles:
    @pytest.fixture
    def page(self, shared: TestClient) -> TestClient:
        return shared

    def test_the_page_is_at_the_root_under_a_strict_policy(self, page: TestClient) -> None:
        found = page.get("/")

        assert found.status_code == 200
        assert found.headers["content-type"] == "text/html; charset=utf-8"
        assert found.headers["cache-control"] == "no-cache"
        assert "unsafe-inline" not in found.headers["content-security-policy"]
        assert "<title>" in found.text

    @pytest.mark.parametrize(
        ("name", "kind"),
        [("main.js", "text/javascript"), ("style.css", "text/css"), ("mark.svg", "image/svg+xml")],
    )
    def test_files_come_with_their_kind(self, page: TestClient, name: str, kind: str) -> None:
        found = page.get(f"/page/{name}")

        assert found.status_code == 200
        assert found.headers["content-type"].partition(";")[0] == kind
        assert len(found.content) > 0

    @pytest.mark.parametrize("path", ["/", "/page/main.js"])
    def test_a_file_that_did_not_change_is_not_sent_again(
        self, page: TestClient, path: str
    ) -> None:
        tag = page.get(path).headers["etag"]

        known = page.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
        other = page.get(path, headers={"If-None-Match": '"other"'})

        assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", tag)
        assert other.status_code == 200

    def test_the_page_asks_for_no_inline_script_or_style(self, page: TestClient) -> None:
        text = page.get("/").text

        assert " style=" not in text
        assert " onclick=" not in text
        assert "<script>" not in text

    def test_every_file_that_the_page_names_is_there(self, page: TestClient) -> None:
        parts = page.get("/").text.split('"')
        named = sorted({part for part in parts if part.startswith("/page/")})

        assert len(named) > 5
        assert {path: page.get(path).status_code for path in named} == dict.fromkeys(named, 200)

    @pytest.mark.parametrize(
        "path", ["/page/none.js", "/page/..%2fapp.py", "/page/%2e%2e/app.py", "/page/", "/page"]
    )
    def test_no_path_leads_out_of_the_page(self, page: TestClient, path: str) -> None:
        assert page.get(path).status_code == 404

    def test_a_head_has_no_body(self, page: TestClient) -> None:
        assert page.head("/").status_code == 200


class TestKeys:
    @pytest.fixture
    def keyed(self, tmp_path: Path) -> Iterator[tuple[TestClient, dict[str, str]]]:
        with service(tmp_path) as (app, engine):
            texts = {role: make_key(engine.store, role, role)[0] for role in ("read", "admin")}
            yield TestClient(app, base_url="http://127.0.0.1"), texts

    def test_the_page_is_open_and_its_data_is_not(
        self, keyed: tuple[TestClient, dict[str, str]]
    ) -> None:
        page, _ = keyed

        assert page.get("/").status_code == 200
        assert page.get("/page/main.js").status_code == 200
        assert page.get("/v1/map").status_code == 401

    def test_the_overview_is_for_admins(self, keyed: tuple[TestClient, dict[str, str]]) -> None:
        page, texts = keyed

        def status(role: str, path: str) -> int:
            return page.get(path, headers={"X-API-Key": texts[role]}).status_code

        assert status("read", "/v1/overview") == 403
        assert status("admin", "/v1/overview") == 200
        assert status("read", "/v1/map") == 200


class TestDetails:
    def test_a_list_tells_how_varied_it_is(self, page: TestClient) -> None:
        slate = given(page)

        items = shop()
        rows = items.rows(ids(slate))
        pairs = {h.name: h.among(rows).matrix().sum() / 6 for h in items.distances}
        assert slate["diversity"] == pytest.approx(pairs)

    def test_attributes_come_where_they_are_asked_for(self, page: TestClient) -> None:
        plain, whole = given(page), given(page, details=True)

        assert all("attributes" not in item for item in plain["items"])
        makers = {item["id"]: item["attributes"] for item in whole["items"]}
        expected = {f"item-{n}": {"maker": "them" if n % 2 else "us"} for n in range(ITEMS)}
        assert makers == {item: expected[item] for item in makers}


class TestInsteadOf:
    def test_a_list_that_is_taken_back_counts_as_not_shown(self, page: TestClient) -> None:
        first = given(page)

        second = given(page, instead_of=first["slate_id"])

        assert ids(second) == ids(first)
        assert not any(item["shown_before"] for item in second["items"])
        third = given(page)
        assert not set(ids(third)) & set(ids(second))

    def test_the_dial_changes_the_list_in_its_place(self, page: TestClient) -> None:
        first = given(page, "ann", k=4)
        answer(page, first, *ids(first)[:2])
        second = given(page, k=4)

        varied = given(
            page, k=4, instead_of=second["slate_id"], diversity={"floor": {"price": 50.0}}
        )

        assert ids(varied) != ids(second)
        assert varied["diversity"]["price"] > second["diversity"]["price"]

    def test_it_stays_in_the_history_as_closed_and_not_answered(self, page: TestClient) -> None:
        first = given(page)
        second = given(page, instead_of=first["slate_id"])

        history = page.get("/v1/users/ann/history").json()["slates"]

        result = [(one["slate_id"], one["closed"], one["answered"]) for one in history]
        assert result == [(second["slate_id"], False, False), (first["slate_id"], True, False)]

    def test_it_takes_no_feedback_and_teaches_nothing(self, tmp_path: Path) -> None:
        with service(tmp_path, late="learn") as (app, engine):
            page = TestClient(app, base_url="http://127.0.0.1")
            first = given(page)
            given(page, instead_of=first["slate_id"])

            refused = answer(page, first, ids(first)[0])

            assert refused.status_code == 409
            assert "withdrawn" in problem(refused)["detail"]
            with engine.store.reading() as reader:
                assert reader.users(["ann"])["ann"].state is None
                assert [one.kind for one in reader.events("ann")] == ["withdraw"]

    def test_an_answered_list_stays(self, page: TestClient) -> None:
        first = given(page)
        answer(page, first, ids(first)[0])

        refused = page.post("/v1/users/ann/slates", json={"instead_of": first["slate_id"]})

        assert refused.status_code == 409
        assert "has feedback" in problem(refused)["detail"]
        assert len(page.get("/v1/users/ann/history").json()["slates"]) == 1

    def test_a_list_is_taken_back_once(self, page: TestClient) -> None:
        first = given(page)
        given(page, instead_of=first["slate_id"])

        again = page.post("/v1/users/ann/slates", json={"instead_of": first["slate_id"]})

        assert again.status_code == 409
        assert "withdrawn" in problem(again)["detail"]

    def test_nobody_takes_back_the_list_of_another(self, page: TestClient) -> None:
        first = given(page, "bob")

        refused = page.post("/v1/users/ann/slates", json={"instead_of": first["slate_id"]})

        assert refused.status_code == 409
        assert answer(page, first, ids(first)[0]).json()["status"] == "learnt"
        assert page.get("/v1/users/ann").status_code == 404

    def test_a_list_that_is_not_known_is_not_found(self, page: TestClient) -> None:
        refused = page.post("/v1/users/ann/slates", json={"instead_of": "01NONE"})

        assert refused.status_code == 404

    def test_users_with_such_lists_can_be_moved(self, page: TestClient, tmp_path: Path) -> None:
        given(page, instead_of=given(page)["slate_id"])
        lines = page.get("/v1/export").content
        (tmp_path / "other").mkdir()

        with service(tmp_path / "other") as (app, _engine):
            other = TestClient(app, base_url="http://127.0.0.1")
            taken = other.post(
                "/v1/import", content=lines, headers={"Content-Type": "application/x-ndjson"}
            )

            assert taken.json() == {"imported": 1, "items": 0}
            restored = other.get("/v1/export").content
            assert restored.splitlines()[1:] == lines.splitlines()[1:]


class TestBeside:
    def test_another_policy_is_taught_by_the_answers_before(self, page: TestClient) -> None:
        first = given(page)
        answer(page, first, ids(first)[0])
        second = given(page)
        answer(page, second, ids(second)[0])

        same = beside(page, second, "lmdp").json()
        other = beside(page, second, "mmr").json()

        assert [item["id"] for item in same["items"]] == ids(second)
        assert same["diversity"] == pytest.approx(second["diversity"])
        assert other["label"] == "MMR"
        assert not {item["id"] for item in other["items"]} & set(ids(first))
        assert set(other["items"][0]) == {"id", "title", "score", "attributes"}

    def test_another_policy_chooses_from_what_the_list_could(self, page: TestClient) -> None:
        first = given(page, k=2)
        allowed = [*ids(first), "item-1", "item-5", "item-7"]

        same = given(page, k=2, candidates=allowed, exclude=["item-7"], allow_repeats=True)
        fresh = given(page, k=2, candidates=allowed, exclude=["item-7"])
        ruled = given(
            page,
            k=2,
            where={"attribute": "maker", "=": "us"},
            constraints={"pins": {"2": "item-0"}},
        )

        for one in (same, fresh, ruled):
            assert [item["id"] for item in beside(page, one, "lmdp").json()["items"]] == ids(one)

    def test_a_list_that_was_taken_back_was_not_shown(self, page: TestClient) -> None:
        first = given(page)
        second = given(page, instead_of=first["slate_id"])

        assert [item["id"] for item in beside(page, second, "lmdp").json()["items"]] == ids(second)

    def test_every_policy_that_is_offered_gives_a_list(self, page: TestClient) -> None:
        first = given(page)
        answer(page, first, ids(first)[1])
        second = given(page)

        names = [one["name"] for one in page.get("/v1/policies").json()]
        lengths = {name: len(beside(page, second, name).json()["items"]) for name in names}

        assert len(names) > 8
        assert lengths == dict.fromkeys(names, 3)

    def test_a_policy_that_nobody_knows_is_not_found(self, page: TestClient) -> None:
        refused = beside(page, given(page), "lmhd")

        assert refused.status_code == 404
        assert "lmdh" in problem(refused)["detail"]

    def test_the_list_must_be_the_users(self, page: TestClient) -> None:
        slate = given(page, "bob")
        given(page, "ann")

        assert beside(page, slate, "mmr").status_code == 404


def beside(page: TestClient, slate: dict[str, Any], policy: str, user: str = "ann") -> Any:
    asked = {"policy": policy, "slate": slate["slate_id"]}
    return page.get(f"/v1/users/{user}/counterfactual", params=asked)


class TestPolicies:
    @pytest.fixture
    def page(self, shared: TestClient) -> TestClient:
        return shared

    def test_the_served_come_first_and_say_whether_they_learn(self, page: TestClient) -> None:
        found = page.get("/v1/policies").json()

        assert found[0] == {"name": "lmdp", "label": "LMDP", "served": True, "learns": True}
        by_name = {one["name"]: one for one in found}
        assert not by_name["uniform"]["learns"]
        assert not by_name["c2ucb"]["served"]


class TestMap:
    def test_every_item_has_a_place_and_a_group(self, page: TestClient) -> None:
        found = page.get("/v1/map").json()

        assert found["ids"] == [f"item-{n}" for n in range(ITEMS)]
        assert {len(found[name]) for name in ("titles", "x", "y", "group")} == {ITEMS}
        assert max(map(abs, found["x"])) == max(map(abs, found["y"])) == 1.0
        assert 0.5 < found["explained"] <= 1.0
        assert [found["groups"][place] for place in found["group"]] == ["us", "them"] * 6

    def test_places_keep_apart_what_is_apart(self, page: TestClient) -> None:
        found = page.get("/v1/map").json()

        features = shop().features
        table = (features - features.mean(axis=0)) / features.std(axis=0)
        u, s, _ = np.linalg.svd(table, full_matrices=False)
        for name, column in (("x", 0), ("y", 1)):
            place = u[:, column] * s[column]
            assert abs(np.corrcoef(place, found[name])[0, 1]) == pytest.approx(1.0, abs=1e-6)

    def test_retired_items_are_not_on_it(self, page: TestClient) -> None:
        page.get("/v1/map")
        page.delete("/v1/items/item-3")

        assert "item-3" not in page.get("/v1/map").json()["ids"]


class TestWatch:
    @pytest.fixture
    def page(self, shared: TestClient) -> TestClient:
        return shared

    def test_what_is_learnt_comes_near_the_truth(self, page: TestClient) -> None:
        found = page.get("/v1/simulation", params={"rounds": 1000, "seed": 1}).json()

        last = np.array([series[-1] for series in found["learnt"]])
        off = np.abs(last - found["beta"]).mean()
        assert off < 0.5 * np.abs(found["beta"]).mean()
        assert found["regret"][-1] < 0.6 * found["uniform_regret"][-1]
        assert found["distances"] == ["cosine", "kinds", "colour", "price"]

    def test_series_are_as_long_as_the_rounds_that_are_kept(self, page: TestClient) -> None:
        found = page.get("/v1/simulation", params={"rounds": 300}).json()

        assert len(found["at"]) == MAX_POINTS
        assert (found["at"][0], found["at"][-1]) == (1, 300)
        flat = {len(found[name]) for name in ("at", "regret", "uniform_regret", "reward")}
        deep = {len(one) for name in ("learnt", "low", "high") for one in found[name]}
        assert flat | deep == {MAX_POINTS}
        assert len(found["shown"]) == 3

    def test_the_same_seed_gives_the_same_story(self, page: TestClient, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        with service(tmp_path / "other") as (app, _engine):
            other = TestClient(app, base_url="http://127.0.0.1")
            ours, theirs = (
                one.get("/v1/simulation?rounds=20&seed=4").json() for one in (page, other)
            )

        assert ours == theirs
        assert ours["beta"] != page.get("/v1/simulation?rounds=20&seed=5").json()["beta"]

    @pytest.mark.parametrize("query", ["rounds=0", "rounds=1001", "seed=-1", "policy="])
    def test_what_cannot_be_played_is_refused(self, page: TestClient, query: str) -> None:
        assert page.get(f"/v1/simulation?{query}").status_code == 422

    @pytest.mark.parametrize("normaliser", ["none", "fixed", "growing"])
    def test_a_person_wants_what_the_utility_says(self, normaliser: Any) -> None:
        utility = Utility(shop(), [0.3, -0.1, 0.2], [0.1, 0.2, 0.0, 0.05], normaliser=normaliser)
        person = SimulatedUser(utility, "")
        rng = np.random.default_rng(0)
        items = rng.permutation(ITEMS)[:5]

        assert person.chances(items) == pytest.approx(np.clip(utility.gains(items), 0, 1))
        free = np.sort(items)
        assert person.best(free[None], 3)[0].tolist() == utility.best(3, free).tolist()


class TestOverview:
    def test_it_tells_what_came_of_the_last_minutes(self, page: TestClient) -> None:
        first, second = given(page), given(page, "bob")
        answer(page, first, ids(first)[0])
        answer(page, second)

        found = page.get("/v1/overview?minutes=5").json()

        assert found["counts"] == {"users": 2, "slates": 2, "answered": 2, "events": 2}
        assert len(found["per_minute"]) == 5
        assert sum(one["lists"] for one in found["per_minute"]) == 2
        assert sum(one["feedback"] for one in found["per_minute"]) == 2
        assert {one["policy"] for one in found["by_policy"]} == {"lmdp"}
        assert max(one["reward"] for one in found["by_policy"]) > 0
        assert set(found["by_policy"][0]["diversity"]) == {"cosine", "kinds", "colour", "price"}
        assert found["report"]["policies"][0]["users"] == 2

    def test_learnt_preferences_are_counted_over_users(self, page: TestClient) -> None:
        for user in ("ann", "bob", "cyd"):
            slate = given(page, user)
            answer(page, slate, ids(slate)[0])

        beta = page.get("/v1/overview").json()["beta"]

        assert set(beta["lmdp"]) == {"cosine", "kinds", "colour", "price"}
        for bars in beta["lmdp"].values():
            assert sum(bars["counts"]) == 3
            assert len(bars["edges"]) == len(bars["counts"]) + 1

    def test_the_slowest_requests_are_reported_by_their_route(self, page: TestClient) -> None:
        given(page)
        page.get("/v1/users/nobody")

        slowest = page.get("/v1/overview").json()["slowest"]

        result = {(one["route"], one["status"]) for one in slowest}
        assert result == {("POST /v1/users/{user}/slates", 201), ("GET /v1/users/{user}", 404)}
        assert slowest == sorted(slowest, key=lambda one: -one["ms"])

    def test_an_empty_service_has_an_overview(self, page: TestClient) -> None:
        found = page.get("/v1/overview?minutes=10080").json()

        assert found["counts"]["users"] == 0
        assert (found["by_policy"], found["beta"]) == ([], {})


def test_a_store_that_is_away_does_not_keep_the_page_away(tmp_path: Path) -> None:
    with service(tmp_path) as (app, _engine):
        page = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        (tmp_path / "whole.db").unlink()

        assert page.get("/").status_code == 200
        assert page.get("/v1/map").status_code == 503


def test_the_page_can_be_switched_off(tmp_path: Path) -> None:
    with service(tmp_path, page=False) as (app, _):
        client = TestClient(app, base_url="http://127.0.0.1")

        assert client.get("/").status_code == 404
        assert client.get("/page/main.js").status_code == 404
        assert client.get("/v1/map").status_code == 404
        assert client.get("/v1/catalogue").status_code == 200
