"""Checks of a service's settings, catalogue, store, keys, clock and disk; they change no data."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from variegate.engine.catalogue import check_same, read_or_migrate
from variegate.engine.factory import create_experiment, load_catalogue
from variegate.engine.settings import Settings
from variegate.errors import VariegateError
from variegate.model.catalogue import Catalogue
from variegate.store import KeyRow, Reader, Store
from variegate.store.failures import NO_STORE

#: Seconds that the clock of this machine may differ from the database's.
MAX_SKEW: Final = 5.0
#: Free bytes below which the store may soon not be written, and at which it is an error.
LITTLE_SPACE: Final = 2_000_000_000
NO_SPACE: Final = 200_000_000

Level = Literal["ok", "warning", "error"]


class Finding(NamedTuple):
    """The result of one check, and what to do about it."""

    check: str
    level: Level
    found: str
    advice: str = ""


def diagnose(settings: Settings) -> Iterator[Finding]:
    """Yield the findings, in the order in which their causes would stop a start."""
    yield Finding("settings", "ok", "valid")
    catalogue = None
    try:
        catalogue = load_catalogue(settings)
        policies = ", ".join(create_experiment(settings).names)
        yield Finding("catalogue", "ok", f"{len(catalogue)} items; policies: {policies}")
    except VariegateError as error:
        yield Finding("catalogue", "error", str(error), "correct `catalogue`, or build it again")
    try:
        with Store.open(settings.store, create=False) as store, store.reading() as reader:
            yield from _check_store(reader, catalogue)
            yield check_keys(reader.keys(), settings)
            yield check_clock(reader.head().now)
    except VariegateError as error:
        # An error about a missing store says what to do itself.
        advice = "" if NO_STORE in str(error) else "start the database, or correct `store`"
        yield Finding("store", "error", str(error), advice)
    yield from _check_disk(settings.store)


def _check_store(reader: Reader, catalogue: Catalogue | None) -> Iterator[Finding]:
    counts = reader.counts()
    yield Finding("store", "ok", f"users: {counts['users']}, slates: {counts['slates']}")
    if catalogue is None:
        return
    try:
        known = read_or_migrate(reader, catalogue)
        if known is not None:
            check_same(known, catalogue)
    except VariegateError as error:
        advice = "serve the catalogue of this store, or another store"
        yield Finding("items", "error", str(error), advice)
    else:
        yield Finding("items", "ok", "the store belongs to this catalogue")


def check_keys(keys: list[KeyRow], settings: Settings) -> Finding:
    """Return whether requests can be authorised as the settings say."""
    valid = [row.role for row in keys if row.revoked is None]
    if keys and not valid:
        return Finding("keys", "error", "all are revoked", "variegate keys make --role admin")
    if not keys and not settings.is_local and not settings.allow_anonymous:
        found = f"none, and `host` is {settings.host}: the service refuses to start"
        return Finding("keys", "error", found, "variegate keys make --role admin --name me")
    if not keys:
        found = "none: requests from this machine may do everything"
        return Finding("keys", "warning", found, "make some before others can reach the service")
    if "admin" not in valid:
        return Finding("keys", "warning", "no admin key", "variegate keys make --role admin")
    roles = ", ".join(f"{valid.count(role)} {role}" for role in sorted(set(valid)))
    return Finding("keys", "ok", roles)


def check_clock(database_now: float) -> Finding:
    """Return whether this machine and the database agree on the time."""
    skew = time.time() - database_now
    if abs(skew) <= MAX_SKEW:
        return Finding("clock", "ok", f"{abs(skew):.1f} seconds from the database's")
    found = f"{abs(skew):.0f} seconds {'ahead of' if skew > 0 else 'behind'} the database's"
    return Finding("clock", "warning", found, "synchronise both with NTP: logs would disagree")


def _check_disk(url: str) -> Iterator[Finding]:
    places = {"temporary files": Path(tempfile.gettempdir())}
    if not urlsplit(url).scheme.startswith("postgres"):
        path = url.removeprefix("sqlite:///").partition("?")[0]
        places = {"the store": Path(path).absolute().parent, **places}
    for name, place in places.items():
        if place.is_dir():
            yield check_space(name, shutil.disk_usage(place).free)


def check_space(name: str, free: int) -> Finding:
    """Return whether there is room left for the files of a folder."""
    found = f"{free / 1e9:.1f} GB free for {name}"
    if free > LITTLE_SPACE:
        return Finding("disk", "ok", found)
    advice = "make room: a full disk refuses every change"
    return Finding("disk", "error" if free < NO_SPACE else "warning", found, advice)
