"""Requests to a service in another process, one connection each."""

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPMessage
from typing import Any, NamedTuple

from tools.soak.audit import Notebook, Sent


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def message(self) -> str:
        """The message of an error."""
        return str(json.loads(self.body)["detail"])

    @property
    def code(self) -> str:
        """What an error is, for programs."""
        return str(json.loads(self.body)["type"]).rpartition("/")[2]


class Caller:
    """Sends requests to a service, with the same headers, and records its answers."""

    def __init__(self, address: tuple[str, int], headers: Mapping[str, str] | None = None) -> None:
        self._address, self._headers = address, dict(headers or {})
        self.notebook = Notebook()

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        """Return the answer to a request."""
        return self.send(path, None if body is None else json.dumps(body).encode(), method)

    def send(self, path: str, body: bytes | None, method: str = "POST") -> Answer:
        """Return the answer to a request whose body is bytes."""
        connection = HTTPConnection(*self._address, timeout=60)
        try:
            connection.request(method, path, body, self._headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def request(self, user: str = "ada") -> Answer:
        """Ask for a list."""
        answer = self.ask("POST", f"/v1/users/{user}/slates", {})
        self.notebook.list_answered(answer.status, answer.body)
        return answer

    def report(self, answer: Answer) -> Answer:
        """Say that the first item of a list was liked."""
        slate = json.loads(answer.body)
        first = slate["items"][0]["id"]
        report = Sent(slate["slate_id"], ((first, 1.0),), None, None)
        self.notebook.sending(report)
        result = self.ask("POST", f"/v1/slates/{report.slate}/feedback", report.body)
        self.notebook.report_answered(report, result.status, result.body)
        return result

    def number(self, name: str) -> float:
        """Return a number of /metrics."""
        text = self.ask("GET", "/metrics").body.decode()
        return float(text.split(f"\n{name} ")[1].split("\n")[0])

    def is_answered(self) -> bool:
        """Whether anybody listens."""
        try:
            return self.ask("GET", "/healthz").status == 200
        except ConnectionError:
            return False
