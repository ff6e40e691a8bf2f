"""Logs as JSON, an object a line, or as text; no key, password or user id is in them."""

import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Final, NamedTuple, TextIO

#: The id of the request that is being answered, for the lines that are logged meanwhile.
current_request: ContextVar[str] = ContextVar("current_request", default="")
#: One line a request, of the guard's making.
access_log: Final = logging.getLogger("variegate.access")

_KEY: Final = re.compile(r"(vgk_[0-9A-Za-z]*)_[0-9A-Za-z_-]+")
_PASSWORD: Final = re.compile(r"(://[^:/@\s]*):[^@/\s]+@")
_AT_ONCE_SECONDS: Final = 0.05
#: Who says more than what a person who runs the service needs.
_TALKATIVE: Final = ("uvicorn.error", "uvicorn", "asyncio")


class Answered(NamedTuple):
    """What is logged of a request; its texts are of our own making or were found harmless."""

    request_id: str
    method: str
    #: The template, such as /v1/users/{user}: the ids in a path are nobody's business
    route: str
    status: int
    ms: float
    #: The id of the key, if one came
    key: str


class JsonLines(logging.Formatter):
    """An object a line: time, level, message, request id, and the fields of the record."""

    def __init__(self) -> None:
        super().__init__()
        self._time = Moments()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": self._time.written(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
        }
        if request_id := current_request.get():
            line["request_id"] = request_id
        line |= fields_of(record)
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return redact(json.dumps(line, separators=(",", ":"), default=str))

    def of_request(self, answered: Answered, now: float) -> str:
        """Return the line of a request as `format` would, in a fraction of the time."""
        request_id, method, route, status, ms, key = answered
        end = f',"key":"{key}"}}' if key else "}"
        return (
            f'{{"time":"{self._time.written(now)}","level":"info","message":"request",'
            f'"request_id":"{request_id}","method":"{method}","route":"{route}",'
            f'"status":{status},"ms":{ms:.3f}{end}'
        )


class TextLines(logging.Formatter):
    """The same for people: time, level, message, then name=value."""

    def __init__(self) -> None:
        super().__init__()
        self._time = Moments()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the stack below it where there is one."""
        fields = dict(fields_of(record))
        if request_id := current_request.get():
            fields.setdefault("request_id", request_id)
        # A message may hold what came from outside: a line break in it would forge a line.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        moment = self._time.written(record.created)
        line = f"{moment} {record.levelname.lower():<7} {message}{_recommend(fields)}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)

    def of_request(self, answered: Answered, now: float) -> str:
        """Return the line of a request."""
        fields = {name: value for name, value in answered._asdict().items() if value != ""}
        return f"{self._time.written(now)} info    request{_recommend(fields)}"


class Moments:
    """Times in UTC as text; the seconds are worked out once a second, not once a line."""

    def __init__(self) -> None:
        self._second, self._text = -1, ""

    def written(self, moment: float) -> str:
        """Return a time as ISO 8601 has it, with thousandths."""
        second = int(moment)
        if second != self._second:
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return f"{self._text}.{int(1000 * (moment - second)):03d}Z"


class RequestLines(logging.StreamHandler[TextIO]):
    """Writes the access log, a few lines at once and without a `LogRecord` for each.

    Both would take longer than an empty route may.
    """

    def __init__(self, stream: TextIO, lines: JsonLines | TextLines) -> None:
        super().__init__(stream)
        self.setFormatter(lines)
        self._lines = lines
        self._waiting: list[str] = []
        self._due = 0.0

    def write(self, answered: Answered) -> None:
        """Take one line; it is written within a twentieth of a second."""
        now = time.time()
        self._waiting.append(self._lines.of_request(answered, now))
        if not self._due - _AT_ONCE_SECONDS <= now < self._due:
            self._due = now + _AT_ONCE_SECONDS
            asyncio.get_running_loop().call_later(_AT_ONCE_SECONDS, self.flush)

    def flush(self) -> None:
        """Write what waits; logging calls it when the process ends."""
        with self.lock or nullcontext():
            lines, self._waiting = self._waiting, []
            if lines:
                self.stream.write("\n".join(lines) + "\n")
        super().flush()


def configure_logs(level: str = "info", style: str = "json", stream: TextIO | None = None) -> None:
    """Let every logger of this process write to `stream`, standard error if not given."""
    target, lines = stream or sys.stderr, JsonLines() if style == "json" else TextLines()
    handler = logging.StreamHandler(target)
    handler.setFormatter(lines)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    access_log.handlers[:] = [RequestLines(target, lines)]
    access_log.propagate = False
    logging.getLogger("uvicorn.access").disabled = True  # the guard logs requests
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel("DEBUG" if level == "debug" else "WARNING")


def log_request(level: int, answered: Answered) -> None:
    """Log a request; where `configure_logs` was not called, as any other record."""
    if not access_log.isEnabledFor(level):
        return
    for handler in access_log.handlers:
        if isinstance(handler, RequestLines):
            handler.write(answered)
            return
    access_log.log(level, "request", extra={"fields": answered._asdict()})


def fields_of(record: logging.LogRecord) -> Mapping[str, object]:
    """Return what a record carries besides its message: `extra={"fields": {...}}`."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return fields


def redact(line: str) -> str:
    """Return the line without the secret part of any key, and without passwords in URLs.

    Nothing logs them on purpose; a stack or another package's message might.

    Examples
    --------
    >>> redact("got vgk_1a2b_secret for postgresql://me:word@db")
    'got vgk_1a2b_*** for postgresql://me:***@db'
    """
    if "vgk_" in line:
        line = _KEY.sub(r"\1_***", line)
    if "://" in line:
        line = _PASSWORD.sub(r"\1:***@", line)
    return line


def _recommend(fields: Mapping[str, object]) -> str:
    return "".join(f" {name}={value}" for name, value in fields.items())
