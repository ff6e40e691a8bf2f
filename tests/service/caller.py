"""Requests to the whole service, whose answers are held to what their routes declare."""

import json
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from pydantic import BaseModel

from tests.service.shell import problem
from variegate.engine import Engine
from variegate.service.keys import make_key

Json = dict[str, Any]


class Caller:
    """Sends requests with a key of a role, and holds each answer to what its route declares."""

    def __init__(self, app: FastAPI, engine: Engine) -> None:
        self.app, self.engine = app, engine
        self.client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
        self.keys = {
            role: make_key(engine.store, role, "a test")[0] for role in ("read", "write", "admin")
        }

    def send(self, method: str, path: str, body: Any = None, *, role: str | None = "admin") -> Any:
        kind = "application/x-ndjson" if "/import" in path else "application/json"
        headers = {"Content-Type": kind} | ({"X-API-Key": self.keys[role]} if role else {})
        content = body if isinstance(body, (bytes, str)) or body is None else json.dumps(body)
        return self.client.request(method, path, content=content, headers=headers)

    def get(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Json:
        """Return a good answer, once it is seen to be what the route declares."""
        answer = self.send(method, path, body)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        content: Json = answer.json()
        model = self.model(method, answer.request.url.path, status)
        # Nothing is missing, and nothing is there that the schema does not speak of.
        result = model.model_validate_json(answer.content).model_dump(
            mode="json", exclude_unset=True
        )
        assert result == content
        return content

    def model(self, method: str, path: str, status: int) -> type[BaseModel]:
        for route in self.routes():
            if method in (route.methods or ()) and route.path_regex.match(path):
                model: type[BaseModel] = route.responses[status]["model"]
                return model
        raise AssertionError(f"no route for {method} {path}")

    def routes(self) -> list[APIRoute]:
        return [
            route
            for route in self.app.routes
            if isinstance(route, APIRoute) and route.path.startswith("/v1/")
        ]

    def slate(self, user: str = "ann", **body: Any) -> Json:
        return self.get("POST", f"/v1/users/{user}/slates", body, status=201)


def error(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    return str(problem(answer)["detail"])
