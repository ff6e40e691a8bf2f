"""The service on a real Ray Serve: two replicas over one PostgreSQL."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.extras import needs
from tools.attack.replicas import free_port
from variegate.client import Client
from variegate.engine.replicas import Replica
from variegate.errors import InputError
from variegate.service.ray_app import app
from variegate.store import Store

pytestmark = [
    needs("grpc"),
    pytest.mark.slow,
    # Ray's own
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture
def port() -> Iterator[int]:
    import ray
    from ray import serve as untyped

    serve: Any = untyped
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    found = free_port()
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": found})
        yield found
    finally:
        serve.shutdown()
        ray.shutdown()


def test_a_service_without_keys_is_refused(postgres_url: str) -> None:
    with pytest.raises(InputError, match="make one with `variegate keys make"):
        app({"store": postgres_url})


def test_replicas_of_ray_learn_everything_once_and_leave(postgres_url: str, port: int) -> None:
    from ray import serve as untyped

    serve: Any = untyped
    command = [sys.executable, "-m", "variegate", "keys", "make", "--role", "write"]
    made = subprocess.run(
        [*command, "--name", "shop", "--store", postgres_url], capture_output=True, text=True
    )
    key = re.findall(r"vgk_\w+", made.stdout)[0]
    serve.run(app({"store": postgres_url, "page": False}))
    with Store.open(postgres_url) as store:
        with Client(f"http://127.0.0.1:{port}", key=key, retries=5) as client:
            for number in range(12):
                slate = client.recommend(f"user-{number % 3}", 3)
                for _ in range(2):  # the second report must change nothing
                    client.feedback(slate, {slate.ids[0]: 1})
            past = [list(client.history(f"user-{number}")) for number in range(3)]
        rewards = [[item.reward for item in slate.items] for each in past for slate in each]
        assert rewards == [[1, 0, 0]] * 12
        with store.reading() as reader:
            assert len(Replica(store, "").live(reader)) == 2

        serve.shutdown()

        with store.reading() as reader:
            assert reader.replicas() == []
            assert reader.counts()["answered"] == 12
