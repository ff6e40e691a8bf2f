"""The values of /metrics."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.testclient import TestClient

from tests.service.shell import calling, numbers
from tests.service.whole import service
from variegate.service.metrics import CONTENT_TYPE, Metrics
from variegate.service.routing import read_router
from variegate.store import Store


def routes() -> APIRouter:
    router = read_router()

    @router.get("/users/{user}")
    async def user(user: str) -> str:
        return user

    return router


def test_requests_are_counted_by_template_method_and_status(store: Store) -> None:
    client = calling(store, routes())
    for path in ("/v1/users/a", "/v1/users/b", "/v1/none", "/v1/neither"):
        client.get(path)
    client.post("/v1/users/a")

    found = numbers(client)

    series = 'variegate_requests_total{{method="{}",route="{}",status="{}"}}'
    assert found[series.format("GET", "/v1/users/{user}", 200)] == 2
    assert found[series.format("POST", "/v1/users/{user}", 405)] == 1
    assert found[series.format("GET", "unmatched", 404)] == 2
    assert found['variegate_request_seconds_count{route="/v1/users/{user}"}'] == 3


def test_methods_of_ones_own_are_counted_as_one(store: Store) -> None:
    client = calling(store)
    for method in ("BREW", "STEAM"):
        client.request(method, "/v1/ping")

    series = 'variegate_requests_total{method="other",route="/v1/ping",status="405"}'
    assert numbers(client)[series] == 2


def test_page_is_what_prometheus_reads(store: Store) -> None:
    answer = calling(store).get("/metrics")

    assert answer.headers["content-type"] == CONTENT_TYPE
    assert "# TYPE variegate_recommend_seconds histogram" in answer.text
    assert "process_resident_memory_bytes" in answer.text
    assert "_created" not in answer.text


def test_engine_adds_its_own_numbers() -> None:
    metrics = Metrics()
    metrics.observe("recommend", 0.0015)
    metrics.observe("learn", 0.3)
    metrics.observe("batch", 5)
    for count in ("slates", "feedback", "new_users", "store_error timeout"):
        metrics.observe(count, 1)
    metrics.count_engine_restart("hung")

    text = metrics.text().decode()

    assert 'variegate_recommend_seconds_bucket{le="0.001"} 0.0' in text
    assert 'variegate_recommend_seconds_bucket{le="0.002"} 1.0' in text
    assert "variegate_learn_seconds_sum 0.3" in text
    assert 'variegate_batch_operations_bucket{le="8.0"} 1.0' in text
    for name in ("slates", "feedback", "new_users"):
        assert f"variegate_{name}_total 1.0" in text
    assert 'variegate_store_errors_total{kind="timeout"} 1.0' in text
    assert 'variegate_store_errors_total{kind="outcome_unknown"} 0.0' in text
    assert 'variegate_engine_restarts_total{reason="hung"} 1.0' in text


def test_two_services_in_a_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.observe("slates", 1)

    assert "variegate_slates_total 0.0" in other.text().decode()


def test_processes_put_their_numbers_together(tmp_path: Path) -> None:
    code = (
        "from variegate.service.metrics import Metrics\n"
        "metrics = Metrics()\n"
        "metrics.observe('slates', 1)\n"
        "metrics.count_request('/v1/ping', 'GET', 200, 0.001)\n"
        "print(metrics.text().decode())\n"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    texts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]

    assert "variegate_slates_total 1.0" in texts[0]
    assert "variegate_slates_total 2.0" in texts[1]
    assert 'variegate_request_seconds_count{route="/v1/ping"} 2.0' in texts[1]


def test_rewards_and_diversity_are_counted_by_policy(tmp_path: Path) -> None:
    with service(tmp_path) as (app, _), TestClient(app, base_url="http://127.0.0.1") as client:
        slate = client.post("/v1/users/ann/slates", json={"k": 3}).json()
        first, second, third = (item["id"] for item in slate["items"])
        path = f"/v1/slates/{slate['slate_id']}/feedback"
        client.post(path, json={"rewards": {first: 1, second: 0.5}, "seen": [first, second]})
        client.post(path, json={"rewards": {third: 0.25}, "seen": [third]})
        client.post(path, json={"rewards": {third: 0.25}, "seen": [third]})  # a duplicate

        found = numbers(client)

    policy = slate["policy"]
    assert found[f'variegate_policy_answered_total{{policy="{policy}"}}'] == 1
    assert found[f'variegate_policy_positions_total{{policy="{policy}"}}'] == 3
    assert found[f'variegate_policy_reward_total{{policy="{policy}"}}'] == 1.75
    for distance, value in slate["diversity"].items():
        series = f'variegate_policy_diversity_total{{distance="{distance}",policy="{policy}"}}'
        assert found[series] == pytest.approx(value)
