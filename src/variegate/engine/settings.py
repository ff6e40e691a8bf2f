"""All settings of the service: defaults, limits and meaning; read from flags, environment, file."""

import json
import logging
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from variegate.engine.codecs import format_value, validation_message
from variegate.engine.experiment import check_propensities_known, check_spec
from variegate.engine.terms import Positive, Rules
from variegate.errors import DataError, InputError

PREFIX: Final = "VARIEGATE_"
MASK: Final = "***"
#: Variables with the prefix that other parts of the package read.
_NOT_SETTINGS: Final = ("config", "data", "cache", "key", "serve_settings", "benchmark_cores")
#: Settings of which a variable can set one entry, after two underscores.
_TABLES: Final = ("policies", "split")
#: Names of policies: they are part of URLs, reports and metrics.
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9.:_\[\]-]+")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|\[::1\]")
_TOML_POSITION: Final = re.compile(r" \(at line (\d+), column \d+\)")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_PASSWORD_OPTION: Final = re.compile(r"(?i)((?:^|&)(?:ssl)?password=)[^&]*")

_log = logging.getLogger(__name__)


def _split_commas(value: object) -> object:
    """Return the parts of comma-separated text, as the environment and flags give lists."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
Text = Annotated[str, Field(min_length=1)]


class Settings(Rules):
    """All settings of the service: those of `Rules`, and how it runs.

    Creating one reads neither files nor the environment: `load_settings` does.
    """

    catalogue: str | None = Field(
        default=None,
        description="Path of a catalogue made by `variegate build`. Not set: the bundled films.",
    )
    store: Text = Field(
        default="sqlite:///variegate.db",
        description="URL of the database: sqlite:///file.db or "
        "postgresql://user:password@host/name.",
    )
    host: Text = Field(
        default="127.0.0.1",
        description="Address to listen on. Other machines can reach the service at 0.0.0.0, which "
        "requires keys.",
    )
    port: int = Field(
        default=8000, ge=0, le=65535, description="Port to listen on; 0: any free port."
    )
    workers: int = Field(default=1, ge=1, le=256, description="Processes that answer requests.")
    engine_process: bool | None = Field(
        default=None,
        description="Run the engine, which makes lists and learns, in a process beside the HTTP "
        "process, for each worker. Not set: if there are two cores per worker.",
    )
    page: bool = Field(
        default=True,
        description="Serve the demo page and its routes beside the API.",
    )
    documentation: Text | None = Field(
        default=None,
        description="Folder of the documentation site, as `make docs` builds it; it is served at "
        "/documentation/ to everybody, and the demo page links to it.",
    )
    policies: dict[str, str] = Field(
        default={"lmdp": "lmdp"},
        min_length=1,
        description="Policies by a name of your choice, as name:option=value,...; users are split "
        "among them.",
    )
    split: dict[str, Annotated[float, Field(ge=0)]] = Field(
        default={},
        description="Share of users that each policy gets, as weights. Empty: equal shares.",
    )
    replace_configuration: bool = Field(
        default=False,
        description="Start although running replicas have other settings: these stop writing "
        "until they are restarted with the new settings.",
    )
    max_body: int = Field(
        default=1_000_000, ge=1000, description="Maximum bytes in a request's body."
    )
    rate: Positive | None = Field(
        default=None,
        description="Requests per second for each key or address, in each worker. Not set: no "
        "limit.",
    )
    burst: Annotated[float, Field(ge=1)] | None = Field(
        default=None,
        description="Requests that may arrive at once under `rate`. Not set: those of two seconds.",
    )
    timeout_seconds: Positive = Field(
        default=10.0,
        description="Seconds in which a client must send its headers, its body, and continue to "
        "read an answer; a request that waits longer for the engine or the store is answered 503.",
    )
    max_connections: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="Connections per worker; probes are answered beyond it. Not set: as the limit "
        "on open files allows.",
    )
    allow_anonymous: bool = Field(
        default=False,
        description="Give everybody admin rights while no key exists, even if other machines can "
        "reach the service.",
    )
    cors_origins: Texts = Field(
        default=(),
        description="Web origins whose pages may call the service, such as https://shop.example.",
    )
    image_origins: Texts = Field(
        default=(),
        description="Other origins that the demo page may load images of items from, such as "
        "https://cdn.shop.example, or *.",
    )
    trusted_proxies: Texts = Field(
        default=(), description="Addresses of proxies whose X-Forwarded-For is trusted."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum level of log messages."
    )
    log_format: Literal["json", "text"] = Field(
        default="json", description="Log lines as JSON objects or as text."
    )
    traces: bool = Field(
        default=False,
        description="Send OpenTelemetry traces of requests by OTLP, as the standard environment "
        "variables OTEL_* say; needs the extra `otel`.",
    )

    @field_validator("policies")
    @classmethod
    def _check_policies(cls, policies: dict[str, str]) -> dict[str, str]:
        for name, line in policies.items():
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"`policies` must have names of letters, digits and _.-, got {name!r}"
                )
            check_spec(name, line)
        return policies

    @field_validator("split")
    @classmethod
    def _check_weights(cls, split: dict[str, float]) -> dict[str, float]:
        if split and not sum(split.values()) > 0:
            raise ValueError("`split` must give some policy a weight above 0, got only zeros")
        return split

    @field_validator("cors_origins", "image_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for origin in origins:
            parts = urlsplit(origin)
            is_origin = parts.scheme and parts.netloc and not (parts.path or parts.query)
            # They become part of a header.
            if origin != "*" and not (is_origin and _ORIGIN.fullmatch(origin)):
                raise ValueError(
                    f"`{info.field_name}` must be origins such as https://shop.example, without a "
                    f"path, got {origin!r}"
                )
        return origins

    @model_validator(mode="after")
    def _check_together(self) -> "Settings":
        if self.k > self.max_k:
            raise ValueError(f"`k` must be at most `max_k`, {self.max_k}, got {self.k}")
        for name in self.split:
            if name not in self.policies:
                known = ", ".join(self.policies)
                raise ValueError(f"`split` must name policies ({known}), got {name!r}")
        if self.mix > 0:
            check_propensities_known(self.policies)
        return self

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the service."""
        return _LOOPBACK.fullmatch(self.host.lower()) is not None


def load_settings(
    flags: Mapping[str, Any] | None = None, *, config: str | Path | None = None
) -> Settings:
    """Return the settings, or raise InputError or DataError for the first invalid one.

    Flags take precedence over the environment, the environment over the file, the file over
    defaults. A table (`policies`, `split`) replaces that of a weaker source as a whole.

    Parameters
    ----------
    flags
        Values from the command line, by the settings' names.
    config
        A TOML file; without it, the one that the variable VARIEGATE_CONFIG names, if any.
    """
    flags, environment = flags or {}, _read_environment()
    path = config or os.environ.get(PREFIX + "CONFIG") or None
    file = {} if path is None else _read_file(str(path))
    try:
        return Settings(**{**file, **environment, **flags})
    except ValidationError as error:
        setting, message = _describe(error.errors()[0])
    if setting in flags or setting not in {**file, **environment}:
        raise InputError(message)
    if setting in environment:
        raise InputError(f"{message} (from {PREFIX}{setting.upper()})")
    raise DataError(f"{path}: {message}")


def _read_environment() -> dict[str, Any]:
    """Return the settings of the environment; those that are empty are not set.

    Raises InputError for a variable that looks like a setting but is not.
    """
    known = [*Settings.model_fields, *_NOT_SETTINGS]
    values: dict[str, Any] = {}
    # Sorted: a table comes before its entries.
    for variable, text in sorted(os.environ.items()):
        if not variable.upper().startswith(PREFIX):
            continue
        name, separator, entry = variable.upper().removeprefix(PREFIX).lower().partition("__")
        if name not in known or (separator and name not in _TABLES):
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {PREFIX}{near[0].upper()}?" if near else "unset it"
            raise InputError(f"environment variable `{variable[:80]}` is not a setting: {hint}")
        if name in _NOT_SETTINGS or not text:
            continue
        if entry:
            values.setdefault(name, {})[entry] = text
        elif name in _TABLES:
            values[name] = _parse_table(variable, name, text)
        else:
            values[name] = None if text == "none" else text
    return values


def _parse_table(variable: str, name: str, text: str) -> dict[str, Any]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise InputError(
            f"`{name}` must be a JSON object, got {format_value(text)} (from {variable})"
        )
    return table


def _read_file(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            values = tomllib.loads(file.read())
    except OSError as error:
        raise DataError(f"{path}: cannot read the settings: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: settings must be a TOML file in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        line = "".join(f"{number}:" for number in _TOML_POSITION.findall(str(error)))
        raise DataError(f"{path}:{line} not TOML: {_TOML_POSITION.sub('', str(error))}") from None
    known = Settings.model_fields
    for name in values:
        if name not in known:
            near = get_close_matches(name.replace("-", "_"), known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "see `variegate serve --print-config`"
            raise DataError(f"{path}: `{format_value(name)[1:-1]}` is not a setting: {hint}")
    if os.name == "posix":
        _check_mode(path, mode, str(values.get("store", "")))
    return values


def _check_mode(path: str, mode: int, store: str) -> None:
    """Raise DataError for a file whose content another user of this machine may have chosen."""
    has_password = "@" in store and mask_password(store) != store
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and has_password):
        raise DataError(
            f"{path}: only the owner may have write access to the settings, got mode "
            f"{mode & 0o777:o}: chmod {'600' if has_password else '644'} it"
        )
    if mode & stat.S_IWGRP:
        _log.warning("%s is writable by its group: chmod 644 it", path)
    if has_password and mode & (stat.S_IRGRP | stat.S_IROTH):
        _log.warning("%s contains a password and is readable by others: chmod 600 it", path)


def _describe(error: ErrorDetails) -> tuple[str, str]:
    """Return the setting that an error is about, and a message."""
    place = ".".join(map(str, error["loc"]))
    message = validation_message(f"`{place}`", error)
    if error["type"] == "extra_forbidden":
        message = f"`{place}` is not a setting"
    named = re.match(r"`(\w+)", message)
    return named[1] if named else "", message


def settings_as_toml(settings: Settings) -> str:
    """Return a settings file with every setting below its description; passwords are masked."""
    lines, tables = ["# Settings of `variegate serve`."], []
    # Those of `Rules`, which pydantic has first, come last.
    for name in sorted(Settings.model_fields, key=Rules.model_fields.__contains__):
        value = getattr(settings, name)
        description = f"\n# {Settings.model_fields[name].description}"
        if isinstance(value, Mapping):
            tables += [description, f"[{name}]"]
            tables += [f"{_key(entry)} = {_to_toml(given)}" for entry, given in value.items()]
        elif value is None:
            lines += [description, f"# {name} ="]
        elif name == "store" and (masked := mask_password(value)) != value:
            note = "# Its password is masked: write it here again, or set VARIEGATE_STORE."
            lines += [description, note, f"{name} = {_to_toml(masked)}"]
        else:
            lines += [description, f"{name} = {_to_toml(value)}"]
    return "\n".join([*lines, *tables]) + "\n"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _to_toml(name)


def _to_toml(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_to_toml, value))}]"
    # JSON's text, numbers and booleans are TOML's, except for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def mask_password(url: str) -> str:
    """Return a store's URL with its password replaced by stars.

    Examples
    --------
    >>> mask_password("postgresql://me:secret@db/shop")
    'postgresql://me:***@db/shop'
    """
    parts = urlsplit(url)
    query = _PASSWORD_OPTION.sub(rf"\1{MASK}", parts.query)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{colon}{MASK if colon else ''}{at}{host}"
    if (netloc, query) == (parts.netloc, parts.query):
        return url  # unchanged: urlunsplit can change the slashes
    return urlunsplit(parts._replace(netloc=netloc, query=query))
