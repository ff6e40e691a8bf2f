"""Settings as a TOML file that explains itself and can be read back."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from variegate.engine.settings import Settings

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
