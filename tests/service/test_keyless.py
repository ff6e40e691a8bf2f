"""Who is let in while no key was made: this machine, no proxy, and no page of another site."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.service.shell import calling, numbers, problem
from tests.service.whole import service
from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.service.keys import make_key
from variegate.service.run import check_exposure
from variegate.store import Store

SHOP = "https://shop.example"
FORWARDED = [
    {"X-Forwarded-For": "203.0.113.9"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Host": "shop.example"},
    {"Forwarded": "for=203.0.113.9"},
    {"X-Real-IP": "203.0.113.9"},
    {"Via": "1.1 proxy"},
]
#: What browsers send for a page of another site: scripts, images, links; then older browsers.
CROSS_SITE = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:9000"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://["},
    {"Referer": "https://evil.example/page"},
    {"Host": "localhost:8000", "Origin": "http://localhost:9000"},
]
OWN = [
    {},
    {"Host": "localhost"},
    {"Host": "127.0.0.1:1"},
    {"Host": "[::1]:8000"},
    {"Host": "127.0.0.1:8000", "Origin": "http://127.0.0.1:8000"},
    {"Host": "127.0.0.1:8000", "Referer": "http://127.0.0.1:8000/page"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
]


def refusal(client: TestClient, headers: dict[str, str], path: str = "/v1/ping") -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403, answer.text
    return str(problem(answer)["detail"])


@pytest.mark.parametrize("headers", OWN, ids=str)
def test_this_machine_and_its_own_page_are_let_in(store: Store, headers: dict[str, str]) -> None:
    assert calling(store).get("/v1/ping", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", FORWARDED, ids=str)
def test_request_through_a_proxy_is_refused(store: Store, headers: dict[str, str]) -> None:
    client = calling(store)

    message = refusal(client, headers)

    assert "variegate keys make" in message
    assert "--allow-anonymous" in message
    assert numbers(client)['variegate_refused_total{reason="forwarded"}'] == 1


@pytest.mark.parametrize("headers", CROSS_SITE, ids=str)
@pytest.mark.parametrize("options", [{}, {"allow_anonymous": True}], ids=["local", "anonymous"])
def test_page_of_another_site_is_refused(
    store: Store, headers: dict[str, str], options: dict[str, bool]
) -> None:
    client = calling(store, **options)

    message = refusal(client, headers)

    assert "variegate keys make" in message
    assert "`cors_origins`" in message
    assert numbers(client)['variegate_refused_total{reason="site"}'] == 1


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example"])
def test_other_names_of_this_machine_are_refused(store: Store, host: str) -> None:
    assert "by its own name" in refusal(calling(store), {"Host": host})


@pytest.mark.parametrize(
    "path",
    [
        "/v1/simulation",
        "/v1/map",
        "/v1/overview",
        "/v1/report",
        "/v1/export",
        "/v1/items",
        "/metrics",
    ],
)
def test_image_on_another_site_runs_nothing(tmp_path: Path, path: str) -> None:
    with service(tmp_path) as (app, _):
        client = TestClient(app, base_url="http://127.0.0.1")

        refusal(client, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}, path)


@pytest.mark.parametrize("headers", [*FORWARDED, {"Host": "shop.example"}], ids=str)
def test_anonymous_service_answers_through_proxies(store: Store, headers: dict[str, str]) -> None:
    client = calling(store, allow_anonymous=True)

    assert client.get("/v1/ping", headers=headers).status_code == 200


def test_page_of_a_named_origin_is_let_in(store: Store) -> None:
    client = calling(store, cors_origins=(SHOP,))

    answer = client.get("/v1/ping", headers={"Origin": SHOP, "Sec-Fetch-Site": "cross-site"})

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == SHOP


def test_any_origin_lets_no_page_in_while_there_is_no_key(store: Store) -> None:
    refusal(calling(store, cors_origins=("*",)), {"Origin": "https://evil.example"})


@pytest.mark.parametrize("headers", [*FORWARDED, *CROSS_SITE], ids=str)
def test_key_is_enough_from_anywhere(store: Store, headers: dict[str, str]) -> None:
    key, _ = make_key(store, "write", "shop")

    answer = calling(store).get("/v1/ping", headers={**headers, "X-API-Key": key})

    assert answer.status_code == 200


@pytest.mark.parametrize("options", [{}, {"allow_anonymous": True}], ids=["local", "anonymous"])
def test_any_origin_without_keys_does_not_start(sqlite_url: str, options: dict[str, bool]) -> None:
    settings = Settings(store=sqlite_url, cors_origins=("*",), **options)  # type: ignore[arg-type]

    with pytest.raises(InputError, match=r"`cors_origins` must list origins.*keys make"):
        check_exposure(settings)

    with Store.open(sqlite_url) as store:
        make_key(store, "admin", "me")
    check_exposure(settings)
