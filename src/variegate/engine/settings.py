"""What the service can be told: every setting with its default, its limits and its meaning."""

import json
import logging
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator
from pydantic.config import JsonDict
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from variegate.engine.codecs import shown
from variegate.engine.experiment import check_mixable, made
from variegate.errors import DataError, InputError, VariegateError

#: Names of policies: they stand in URLs, reports and metrics.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LOOPBACK: Final = re.compile(r"localhost|127(\.\d{1,3}){3}|::1|\[::1\]")


def setting(default: Any, description: str, must: str, *, each: str = "", **limits: Any) -> Any:
    """Return a field: what it means, and what would do where a value, or `each` part, does not."""
    words: JsonDict = {"must": must, "each": each}
    return Field(default, description=description, json_schema_extra=words, **limits)


def listed(value: object) -> object:
    """Return the parts of a line between commas, as the environment and flags give lists."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(listed)]


class Settings(BaseSettings):
    """All that the service can be told; making one reads no file and no environment.

    `variegate.engine.settings.load_settings` gathers the values from flags, environment and
    file.
    """

    model_config = SettingsConfigDict(
        env_prefix="VARIEGATE_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        env_parse_none_str="none",
        extra="forbid",
        allow_inf_nan=False,
        frozen=True,
    )

    catalogue: str | None = setting(
        None,
        "Path of a catalogue made by `variegate build`. Not set: the bundled films.",
        "the path of a file",
    )
    store: str = setting(
        "sqlite:///variegate.db",
        "Where what is learnt is kept: sqlite:///file.db or postgresql://user:password@host/name.",
        "a URL such as sqlite:///variegate.db or postgresql://user@host/name",
        min_length=1,
    )
    host: str = setting(
        "127.0.0.1",
        "Address to listen at. Beyond this machine, such as 0.0.0.0, it wants keys.",
        "an address such as 127.0.0.1 or 0.0.0.0",
        min_length=1,
    )
    port: int = setting(
        8000, "Port to listen at; 0 takes any free one.", "from 0 to 65535", ge=0, le=65535
    )
    workers: int = setting(1, "Processes that answer.", "from 1 to 256", ge=1, le=256)
    engine_process: bool | None = setting(
        None,
        "Run the engine, which makes lists and learns, in a process beside the one that speaks "
        "HTTP, for each worker. Not set: where there are two cores for each.",
        "true or false",
    )
    policies: dict[str, str] = setting(
        {"lmdp": "lmdp"},
        "Policies by a name of your choice, as name:option=value,...; users are split among them.",
        'a table of names and policies such as {"mine": "lmdp:prior=prior.npz"}',
        each="a policy such as lmdp or lmdh:ridge=1",
        min_length=1,
    )
    split: dict[str, float] = setting(
        {},
        "How many of the users each policy gets, as weights. Empty: as many each.",
        'a table of policies and weights such as {"lmdp": 0.9, "mmr": 0.1}',
        each="a number of at least 0",
    )
    replace_configuration: bool = setting(
        False,
        "Start with other settings than the replicas that run: they write nothing more, and wait "
        "to be restarted with these.",
        "true or false",
    )
    seed: int = setting(
        0, "Seeds the split and the draws: same seed, same choices.", "a whole number from 0", ge=0
    )
    k: int = setting(10, "Items in a list, where a request does not say.", "from 1", ge=1)
    max_k: int = setting(
        100, "The most items that a request may ask for.", "from 1 to 10000", ge=1, le=10_000
    )
    max_candidates: int = setting(
        10_000, "The most candidates that a request may name.", "from 1", ge=1
    )
    memory: int = setting(
        1000,
        "Items remembered as shown to a user and not shown again; 0 remembers none.",
        "from 0 to 100000",
        ge=0,
        le=100_000,
    )
    memory_days: float = setting(
        30.0, "Days after which an item may be shown again.", "a number above 0", gt=0
    )
    aggregation: Literal["first", "sum"] = setting(
        "first",
        "What counts where feedback on an item comes again: the first, or the sum up to 1.",
        "first or sum",
    )
    wait_seconds: float = setting(
        86_400.0, "Seconds to wait for feedback on a list.", "a number above 0", gt=0
    )
    default_reward: float | None = setting(
        None,
        "What silence is worth when the waiting is over. Not set: silence teaches nothing.",
        "a number from 0 to 1",
        ge=0,
        le=1,
    )
    late: Literal["drop", "learn"] = setting(
        "drop", "What is done with feedback that comes after the waiting.", "drop or learn"
    )
    mix: float = setting(
        0.0,
        "Share of lists with random items, whose propensities are logged for off-policy estimates.",
        "a number from 0 to 1",
        ge=0,
        le=1,
    )
    prior_least_users: int = setting(
        100,
        "What new users begin with is fitted to no fewer users, so that no one is shown.",
        "a whole number from 10",
        ge=10,
    )
    prior_every_hours: float = setting(
        0.0,
        "Hours after which what new users begin with is fitted anew; 0: only by command.",
        "a number of at least 0",
        ge=0,
    )
    max_body: int = setting(
        1_000_000, "Bytes that a request may send.", "a whole number from 1000", ge=1000
    )
    rate: float | None = setting(
        None,
        "Requests a second by each key or address, for each worker. Not set: no limit.",
        "a number above 0",
        gt=0,
    )
    burst: float | None = setting(
        None,
        "Requests that may come at once under `rate`. Not set: those of two seconds.",
        "a number from 1",
        ge=1,
    )
    timeout_seconds: float = setting(
        10.0,
        "Seconds that a client may take to send its headers, again its body, and to go on reading "
        "an answer; a request that waits for the engine or the store is answered 503 after them.",
        "a number above 0",
        gt=0,
    )
    max_connections: int | None = setting(
        None,
        "Connections of each worker; probes are answered beyond. Not set: as many as the limit on "
        "open files has room for.",
        "a whole number from 1",
        ge=1,
    )
    allow_anonymous: bool = setting(
        False,
        "Let everybody in as admin where no key was ever made, even beyond this machine.",
        "true or false",
    )
    cors_origins: Texts = setting(
        (),
        "Web origins whose pages may call the service, such as https://shop.example.",
        "origins such as https://shop.example",
    )
    trusted_proxies: Texts = setting(
        (),
        "Addresses of proxies whose X-Forwarded-For is believed.",
        "addresses such as 10.0.0.1",
    )
    log_level: Literal["debug", "info", "warning", "error"] = setting(
        "info", "How much is logged.", "debug, info, warning or error"
    )
    log_format: Literal["json", "text"] = setting(
        "json", "Logs as JSON, an object a line, or as text.", "json or text"
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what was passed alone, so that a test's settings are those that it names."""
        return (init_settings,)

    @field_validator("policies")
    @classmethod
    def _check_policies(cls, policies: dict[str, str]) -> dict[str, str]:
        for name, line in policies.items():
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"`policies` must have names of letters, digits and _.-, got {name!r}"
                )
            made(name, line)
        return policies

    @field_validator("split")
    @classmethod
    def _check_weights(cls, split: dict[str, float]) -> dict[str, float]:
        for name, weight in split.items():
            if weight < 0:
                raise ValueError(f"`split.{name}` must be a number of at least 0, got {weight!r}")
        if split and not sum(split.values()) > 0:
            raise ValueError("`split` must give some policy a weight above 0, got only zeros")
        return split

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            parts = urlsplit(origin)
            plain = parts.scheme and parts.netloc and not (parts.path or parts.query)
            if origin != "*" and not plain:
                raise ValueError(
                    "`cors_origins` must be origins such as https://shop.example, without a "
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
            check_mixable(self.policies)
        return self

    @property
    def weights(self) -> dict[str, float]:
        """The share of the users that each policy gets; they sum to 1."""
        weights = {name: self.split.get(name, 0.0) for name in self.policies}
        if not self.split:
            weights = dict.fromkeys(weights, 1.0)
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    @property
    def is_local(self) -> bool:
        """Whether it listens to this machine alone."""
        return _LOOPBACK.fullmatch(self.host.lower()) is not None


_SECRET_OPTION: Final = re.compile(r"(?i)((?:^|&)(?:ssl)?password=)[^&]*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
MASK: Final = "***"


def settings_as_toml(settings: Settings) -> str:
    """Return a settings file with every setting, each under what it means; no secret is in it."""
    plain, tables = ["# Settings of `variegate serve`."], []
    for name, field in Settings.model_fields.items():
        value, about = getattr(settings, name), f"\n# {field.description}"
        if isinstance(value, Mapping):
            tables += [about, f"[{name}]"]
            tables += [f"{_key(own)} = {_written(given)}" for own, given in value.items()]
        elif value is None:
            plain += [about, f"# {name} ="]
        elif name == "store" and (masked := without_secrets(value)) != value:
            note = "# Its password is masked here: put it back, or set VARIEGATE_STORE."
            plain += [about, note, f"{name} = {_written(masked)}"]
        else:
            plain += [about, f"{name} = {_written(value)}"]
    return "\n".join([*plain, *tables]) + "\n"


def without_secrets(url: str) -> str:
    """Return the URL of a store with stars for its password.

    Examples
    --------
    >>> without_secrets("postgresql://me:secret@db/shop")
    'postgresql://me:***@db/shop'
    """
    parts = urlsplit(url)
    query = _SECRET_OPTION.sub(rf"\1{MASK}", parts.query)
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{colon}{MASK if colon else ''}{at}{host}"
    if (netloc, query) == (parts.netloc, parts.query):
        return url  # as it was: putting a URL together again can change its slashes
    return urlunsplit(parts._replace(netloc=netloc, query=query))


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _written(name)


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    # JSON's text, numbers and booleans are TOML's, but for one control character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


PREFIX: Final = "VARIEGATE_"
_log = logging.getLogger(__name__)
#: Variables with the prefix that other parts of the package read.
_NOT_SETTINGS: Final = ("config", "data", "cache", "key", "serve_settings", "benchmark_cores")
#: Settings of which a variable can give a part, behind two underscores.
_TABLES: Final = ("policies", "split")
_LINE: Final = re.compile(r" \(at line (\d+), column \d+\)")


@dataclass(frozen=True)
class _Source:
    """Values from one place."""

    values: Mapping[str, Any]
    #: The file's path, if it is one
    path: str | None = None
    is_environment: bool = False

    def error(self, setting: str, message: str) -> VariegateError:
        if self.path is not None:
            return DataError(f"{self.path}: {message}")
        said = f" (from {PREFIX}{setting.upper()})" if self.is_environment else ""
        return InputError(message + said)


def load_settings(
    flags: Mapping[str, Any] | None = None, *, config: str | Path | None = None
) -> Settings:
    """Return the settings, or raise InputError or DataError for the first that will not do.

    Parameters
    ----------
    flags
        What was said on the command line, by the settings' names; it wins over all.
    config
        A TOML file; without it, the one that the environment's VARIEGATE_CONFIG names, if any.

    A table (`policies`, `split`) of a stronger place stands in for the whole of a weaker one's.
    """
    _check_names()
    path = config or os.environ.get(PREFIX + "CONFIG") or None
    sources = [_Source(flags or {}), _Source(_environment(), is_environment=True)]
    if path is not None:
        sources.append(_file(str(path)))
    values: dict[str, Any] = {}
    for source in reversed(sources):
        values.update(source.values)
    try:
        return Settings(**values)
    except ValidationError as error:
        raise _told(error.errors()[0], sources) from None


def _check_names() -> None:
    """Raise InputError for a variable that looks like a setting and is none."""
    known = [*Settings.model_fields, *_NOT_SETTINGS]
    for variable in sorted(os.environ):
        if not variable.upper().startswith(PREFIX):
            continue
        name, is_part, _ = variable.upper().removeprefix(PREFIX).lower().partition("__")
        if name in known and not (is_part and name not in _TABLES):
            continue
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {PREFIX}{near[0].upper()}?" if near else "unset it"
        raise InputError(f"the environment's `{variable[:80]}` is no setting: {hint}")


def _environment() -> dict[str, Any]:
    try:
        return EnvSettingsSource(Settings)()
    except SettingsError as error:
        (name,) = re.findall(r'"(\w+)" from source', str(error))
        raise InputError(
            f"`{name}` must be {_must(name)} as JSON, got "
            f"{shown(os.environ.get(PREFIX + name.upper(), ''))} (from {PREFIX}{name.upper()})"
        ) from None


def _file(path: str) -> _Source:
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            values = tomllib.loads(file.read())
    except OSError as error:
        raise DataError(f"{path}: cannot read the settings: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: settings must be a TOML file in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        line = "".join(f"{number}:" for number in _LINE.findall(str(error)))
        raise DataError(f"{path}:{line} not TOML: {_LINE.sub('', str(error))}") from None
    known = Settings.model_fields
    for name in values:
        if name not in known:
            near = get_close_matches(name.replace("-", "_"), known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "see `variegate serve --print-config`"
            raise DataError(f"{path}: `{shown(name)[1:-1]}` is no setting: {hint}")
    if os.name == "posix":
        _check_mode(path, mode, str(values.get("store", "")))
    return _Source(values, path=path)


def _check_mode(path: str, mode: int, store: str) -> None:
    """Raise DataError for a file whose content another user of this machine may have chosen."""
    holds_password = "@" in store and without_secrets(store) != store
    if mode & stat.S_IWOTH or (mode & stat.S_IWGRP and holds_password):
        raise DataError(
            f"{path}: settings must be writable by their owner alone, got mode {mode & 0o777:o}: "
            f"chmod {'600' if holds_password else '644'} it"
        )
    if mode & stat.S_IWGRP:
        _log.warning("%s can be written by its group: chmod 644 it", path)
    if holds_password and mode & (stat.S_IRGRP | stat.S_IROTH):
        _log.warning("%s holds a password and can be read by others: chmod 600 it", path)


def _told(error: ErrorDetails, sources: list[_Source]) -> VariegateError:
    """Return the error of the place that the value came from, in this package's words."""
    message = error["msg"].removeprefix("Value error, ")
    named = re.match(r"`(\w+)", message)
    setting = str(error["loc"][0]) if error["loc"] else (named[1] if named else "")
    if error["type"] == "extra_forbidden":
        message = f"`{setting}` is no setting"
    elif error["type"] != "value_error":
        place = ".".join(map(str, error["loc"]))
        words = _must(setting, "each" if len(error["loc"]) > 1 else "must")
        message = f"`{place}` must be {words}, got {shown(error['input'])}"
    origin = next((source for source in sources if setting in source.values), sources[0])
    return origin.error(setting, message)


def _must(setting: str, part: str = "must") -> str:
    extra = Settings.model_fields[setting].json_schema_extra
    return str(extra[part]) if isinstance(extra, dict) else "something else"
