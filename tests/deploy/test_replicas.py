"""The processes of `deploy/compose.yaml`, with its settings, without containers."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.deploy.test_files import replica_settings
from tests.waiting import until
from tools.attack.balancer import balancing, haproxy
from tools.attack.replicas import Replica
from variegate.client import Client
from variegate.engine.settings import PREFIX

N_REPLICAS = 3


@pytest.fixture
def replicas(tmp_path: Path, postgres_url: str) -> Iterator[list[Replica]]:
    settings = {name.removeprefix(PREFIX).lower(): v for name, v in replica_settings().items()}
    started = [Replica(number, tmp_path) for number in range(N_REPLICAS)]
    try:
        for replica in started:
            replica.start({**settings, "store": postgres_url, "page": settings["page"] == "true"})
        until(lambda: all(replica.is_ready for replica in started))
        yield started
    finally:
        for replica in started:
            replica.kill()


@pytest.fixture
def balancer(replicas: list[Replica], tmp_path: Path) -> Iterator[int]:
    if haproxy() is None:
        pytest.skip("haproxy is not installed: apt-get install haproxy")
    with balancing(replicas, tmp_path) as started:
        until(lambda: _is_ready(started.port))
        yield started.port


def _is_ready(port: int) -> bool:
    with closing(HTTPConnection("127.0.0.1", port, timeout=2)) as connection:
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False


def variegate(*words: str) -> str:
    command = [sys.executable, "-m", "variegate", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_clients_of_the_load_balancer_lose_nothing_when_replicas_end(
    replicas: list[Replica], balancer: int, postgres_url: str
) -> None:
    made = variegate("keys", "make", "--role", "write", "--name", "shop", "--store", postgres_url)
    key = re.findall(r"vgk_\w+", made)[0]
    lists = 24
    with Client(f"http://127.0.0.1:{balancer}", key=key, retries=20, deadline=60) as client:
        for number in range(lists):
            if number == lists // 3:
                assert replicas[0].stop()  # as in a rolling upgrade
            if number == 2 * lists // 3:
                replicas[1].kill()
            slate = client.recommend(f"user-{number % 4}", 3)
            for _ in range(2):  # the second report must change nothing
                client.feedback(slate, {slate.ids[0]: 1})
        past = [list(client.history(f"user-{number}")) for number in range(4)]
    assert [len(slates) for slates in past] == [lists // 4] * 4
    assert all(
        [item.reward for item in slate.items] == [1, 0, 0] for each in past for slate in each
    )
    told = variegate("rebuild", "--check", "--store", postgres_url)
    assert told == "All states match the log: 4 users.\n"
