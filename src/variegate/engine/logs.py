"""Log lines as JSON objects or as text, without keys, passwords and user ids."""

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

#: The id of the current request, for the lines that are logged meanwhile.
current_request: ContextVar[str] = ContextVar("current_request", default="")
#: One line per request, from the middleware.
access_log: Final = logging.getLogger("variegate.access")

_KEY: Final = re.compile(r"(vgk_[0-9A-Za-z]*)_[0-9A-Za-z_-]+")
_PASSWORD: Final = re.compile(r"(://[^:/@\s]*):[^@/\s]+@")
_FLUSH_SECONDS: Final = 0.05
#: Loggers whose info messages an operator does not need.
_VERBOSE: Final = ("uvicorn.error", "uvicorn", "asyncio")


class RequestLog(NamedTuple):
    """The log line of a request; its texts need no escaping."""

    request_id: str
    method: str
    #: The template, such as /v1/users/{user}: ids are not logged
    route: str
    status: int
    ms: float
    #: The id of the key, if any
    key: str


class JsonFormatter(logging.Formatter):
    """A JSON object per line: time, level, message, request id, and the fields of the record."""

    def __init__(self) -> None:
        super().__init__()
        self._time = TimeFormatter()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": self._time.format(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
        }
        if request_id := current_request.get():
            line["request_id"] = request_id
        line |= record_fields(record)
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return redact(json.dumps(line, separators=(",", ":"), default=str))

    def format_request(self, request: RequestLog, now: float) -> str:
        """Return the line of a request as `format` would, in a fraction of the time."""
        request_id, method, route, status, ms, key = request
        end = f',"key":"{key}"}}' if key else "}"
        return (
            f'{{"time":"{self._time.format(now)}","level":"info","message":"request",'
            f'"request_id":"{request_id}","method":"{method}","route":"{route}",'
            f'"status":{status},"ms":{ms:.3f}{end}'
        )


class TextFormatter(logging.Formatter):
    """Text for people: time, level, message, then name=value."""

    def __init__(self) -> None:
        super().__init__()
        self._time = TimeFormatter()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the stack trace below it, if any."""
        fields = dict(record_fields(record))
        if request_id := current_request.get():
            fields.setdefault("request_id", request_id)
        # A message may contain text from outside: a line break in it would forge a line.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        moment = self._time.format(record.created)
        line = f"{moment} {record.levelname.lower():<7} {message}{_format_fields(fields)}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return redact(line)

    def format_request(self, request: RequestLog, now: float) -> str:
        """Return the line of a request."""
        fields = {name: value for name, value in request._asdict().items() if value != ""}
        return f"{self._time.format(now)} info    request{_format_fields(fields)}"


class TimeFormatter:
    """Formats times in UTC; seconds are formatted once per second, not once per line."""

    def __init__(self) -> None:
        self._second, self._text = -1, ""

    def format(self, moment: float) -> str:
        """Return a time in ISO 8601, with milliseconds."""
        second = int(moment)
        if second != self._second:
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return f"{self._text}.{int(1000 * (moment - second)):03d}Z"


class AccessLogHandler(logging.StreamHandler[TextIO]):
    """Writes the access log, several lines at once and without a `LogRecord` for each.

    Both would take too long for an empty route.
    """

    def __init__(self, stream: TextIO, lines: JsonFormatter | TextFormatter) -> None:
        super().__init__(stream)
        self.setFormatter(lines)
        self._lines = lines
        self._queued: list[str] = []
        self._due = 0.0

    def write(self, request: RequestLog) -> None:
        """Queue one line; it is written within a twentieth of a second."""
        now = time.time()
        self._queued.append(self._lines.format_request(request, now))
        if not self._due - _FLUSH_SECONDS <= now < self._due:
            self._due = now + _FLUSH_SECONDS
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Write the queued lines; logging calls it when the process ends."""
        with self.lock or nullcontext():
            lines, self._queued = self._queued, []
            if lines:
                self.stream.write("\n".join(lines) + "\n")
        super().flush()


def configure_logs(level: str = "info", style: str = "json", stream: TextIO | None = None) -> None:
    """Let every logger of this process write to `stream`, by default standard error."""
    target, lines = stream or sys.stderr, JsonFormatter() if style == "json" else TextFormatter()
    handler = logging.StreamHandler(target)
    handler.setFormatter(lines)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    access_log.handlers[:] = [AccessLogHandler(target, lines)]
    access_log.propagate = False
    logging.getLogger("uvicorn.access").disabled = True  # the middleware logs requests
    for name in _VERBOSE:
        logging.getLogger(name).setLevel("DEBUG" if level == "debug" else "WARNING")


def log_request(level: int, request: RequestLog) -> None:
    """Log a request; as any other record, if `configure_logs` was not called."""
    if not access_log.isEnabledFor(level):
        return
    for handler in access_log.handlers:
        if isinstance(handler, AccessLogHandler):
            handler.write(request)
            return
    access_log.log(level, "request", extra={"fields": request._asdict()})


def record_fields(record: logging.LogRecord) -> Mapping[str, object]:
    """Return the fields of a record besides its message: `extra={"fields": {...}}`."""
    fields: Mapping[str, object] = getattr(record, "fields", {})
    return fields


def redact(line: str) -> str:
    """Return the line without the secret parts of keys and without passwords in URLs.

    Nothing logs them on purpose; a stack trace or another package's message might.

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


def _format_fields(fields: Mapping[str, object]) -> str:
    return "".join(f" {name}={value}" for name, value in fields.items())
