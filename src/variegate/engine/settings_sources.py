"""Settings gathered: flags win over the environment, that over the file, that over defaults."""

import logging
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import EnvSettingsSource, SettingsError

from variegate.engine.formatting import shown
from variegate.engine.settings import Settings
from variegate.engine.settings_file import without_secrets
from variegate.errors import DataError, InputError, VariegateError

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
