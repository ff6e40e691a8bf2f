"""A client that a public generator makes from the service's OpenAPI."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from urllib.request import urlopen

import pytest

from tests.extras import needs
from tests.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "client.md"
NAME = "variegate_client"

pytestmark = needs("openapi_python_client")


@pytest.fixture(scope="module")
def generated(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Generate the client with the settings on the page; return the service's address."""
    folder = tmp_path_factory.mktemp("generated")
    settings = re.search(r"^echo '(.+)' > generator.yaml$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert settings is not None
    # Formatting the generated code takes longer than all the rest.
    (folder / "generator.yaml").write_text(f"{settings[1]}\npost_hooks: []\n", encoding="utf-8")
    with urlopen(f"{address}/openapi.json") as schema:  # noqa: S310
        (folder / "openapi.json").write_bytes(schema.read())
    command = ["generate", "--path", "openapi.json", "--config", "generator.yaml"]
    run = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *command, "--fail-on-warning"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "variegate-client")
        yield address
        for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
            del sys.modules[name]


def part(path: str) -> Any:
    return import_module(f"{NAME}.{path}")


@pytest.fixture
def client(generated: str) -> Iterator[Any]:
    with part("client").Client(base_url=generated) as made:
        yield made


def test_visit(client: Any, user: str) -> None:
    models = part("models")
    ask = {"client": client, "body": models.SlateRequest(k=3), "idempotency_key": "visit-1"}

    slate = part("api.slates.recommend").sync(user, **ask)
    again = part("api.slates.recommend").sync(user, **ask)
    body = models.FeedbackRequest.from_dict({"rewards": {slate.items[1].id: 1.0}})
    result = part("api.slates.feedback").sync(slate.slate_id, client=client, body=body)
    history = part("api.users.history").sync(user, client=client)

    assert again.to_dict() == slate.to_dict()
    assert sorted(result.learnt) == sorted(item.id for item in slate.items)
    assert [history.total, history.next_, history.slates[0].earned] == [1, None, 1.0]


def test_refusals_are_problems(client: Any, user: str) -> None:
    body = part("models").SlateRequest.from_dict({"k": 0})

    problem = part("api.slates.recommend").sync(user, client=client, body=body)

    assert (problem.status, problem.type_) == (422, "/problems/invalid")
    assert [error.field for error in problem.errors] == ["k"]


def test_lines_of_json_are_files(client: Any, user: str) -> None:
    models, item = part("models"), part("api.items.item").sync("tt0047478", client=client)
    batch = models.BatchRequest.from_dict({"users": [user, f"{user} too"], "k": 2})
    line = json.dumps({"id": item.id, "title": item.title}).encode()
    upload = part("types").File(payload=io.BytesIO(line))

    lists = part("api.slates.recommend_many").sync(client=client, body=batch)
    backup = part("api.users.export").sync(client=client)
    loaded = part("api.users.import_").sync(client=client, body=backup, replace=True)
    changed = part("api.items.import_items").sync(client=client, body=upload)

    assert {json.loads(one)["user"] for one in lists.payload} == {user, f"{user} too"}
    assert loaded.imported >= 2
    assert json.loads(changed.payload.read().splitlines()[-1])["done"] is True
