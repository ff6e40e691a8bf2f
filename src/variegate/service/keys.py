"""Keys to the service: made, stored as hashes, checked at each request, revoked.

A key reads ``vgk_<id>_<secret>``. The id may be logged; the secret is told once, when the key
is made, and nowhere kept.
"""

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Final, Literal, Protocol
from urllib.parse import urlsplit

from variegate.arrays import check_choice
from variegate.engine.settings import Settings
from variegate.errors import InputError, NotFoundError, StoreError
from variegate.store.rows import KeyRow

Role = Literal["client", "admin"]
ROLES: Final[tuple[Role, ...]] = ("client", "admin")
PREFIX: Final = "vgk"
#: Where the store counts the changes of its keys, so that a running service sees one.
REVISION: Final = "keys_revision"
#: Seconds after which the keys are looked at again; a revoked one is refused within twice that.
FRESH_SECONDS: Final = 1.0
#: How long a request waits for a slow store to tell of revoked keys.
PATIENCE_SECONDS: Final = 0.5
#: The same for the first look, before which nobody can be let in.
FIRST_PATIENCE_SECONDS: Final = 4.0


class KeyReader(Protocol):
    """What is read of a store."""

    def meta(self, key: str) -> str | None: ...
    def keys(self) -> list[KeyRow]: ...


class KeyBatch(KeyReader, Protocol):
    """What is written to a store."""

    def add_key(self, row: KeyRow) -> None: ...
    def revoke_key(self, key: str, time: float) -> bool: ...


class KeyStore(Protocol):
    """A store of keys: `variegate.store.Store`, or one that tests make."""

    def reading(self) -> AbstractContextManager[KeyReader]: ...
    def batch(self) -> AbstractContextManager[KeyBatch]: ...


def new_key(role: str, name: str, now: float) -> tuple[str, KeyRow]:
    """Return a new key, and the row to keep of it.

    Examples
    --------
    >>> key, row = new_key("client", "shop", now=0.0)
    >>> key.startswith(f"vgk_{row.id}_"), key in repr(row)
    (True, False)
    """
    check_choice("role", role, ROLES)
    if not (name.isprintable() and 1 <= len(name.strip()) <= 100):
        raise InputError(f"`name` must be a line of 1 to 100 characters, got {name[:120]!r}")
    # Hexadecimal: it needs no quotes in a shell, and a double click selects all of it.
    own_id, secret = secrets.token_hex(5), secrets.token_hex(24)
    row = KeyRow(own_id, name.strip(), role, _hash(secret), now, None)
    return f"{PREFIX}_{own_id}_{secret}", row


def make_key(store: KeyStore, role: str, name: str) -> tuple[str, KeyRow]:
    """Make a key and keep it in the store; running services know it within two seconds."""
    key, row = new_key(role, name, time.time())
    with store.batch() as batch:
        batch.add_key(row)
    return key, row


def revoke_key(store: KeyStore, key_id: str) -> KeyRow:
    """Revoke a key by its id and return it, or raise NotFoundError."""
    with store.batch() as batch:
        known = _by_id(batch)
        # Who pastes the whole key means the id in it; the secret must not be in a message.
        wanted = _parts(key_id)[0] if key_id.startswith(f"{PREFIX}_") else key_id
        if wanted not in known:
            raise NotFoundError(f"no key has the id {wanted[:40]!r}: see `variegate keys list`")
        batch.revoke_key(wanted, time.time())
        return known[wanted]


def list_keys(store: KeyStore) -> list[KeyRow]:
    """Return every key that was made, in the order of making."""
    with store.reading() as reader:
        return sorted(reader.keys(), key=lambda row: (row.created, row.id))


class KeyRing:
    """The store's keys, kept at hand; `check` asks no database.

    Parameters
    ----------
    store
        Where the keys are.
    clock
        Tells seconds.
    """

    def __init__(self, store: KeyStore, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._rows: dict[str, KeyRow] = {}
        self._revision: str | None = None
        self._loaded_at = float("-inf")
        self._refreshing: asyncio.Future[None] | None = None

    @property
    def was_filled(self) -> bool:
        """Whether a key was ever made, revoked or not."""
        return bool(self._rows)

    @property
    def is_stale(self) -> bool:
        """Whether it is time to look at the store."""
        return self._clock() - self._loaded_at > FRESH_SECONDS

    def load(self) -> None:
        """Read the keys, if they changed since they were read last."""
        now = self._clock()
        with self._store.reading() as reader:
            revision = reader.meta(REVISION) or "0"
            if revision != self._revision:
                self._rows = _by_id(reader)
                self._revision = revision
        self._loaded_at = now

    async def refresh(self) -> None:
        """Look at the store in a thread; requests that come meanwhile share the look.

        While the store cannot be reached, the keys that were known before hold: a request that
        needs the store is answered 503 by itself. Where none was ever read, StoreError says so.
        """
        if self._refreshing is None or self._refreshing.done():
            loop = asyncio.get_running_loop()
            self._refreshing = loop.run_in_executor(None, self.load)
            # Nobody may be waiting for it when it fails: then there is nobody to tell.
            self._refreshing.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._clock() - self._loaded_at <= 2 * FRESH_SECONDS:
            return
        patience = FIRST_PATIENCE_SECONDS if self._revision is None else PATIENCE_SECONDS
        try:
            async with asyncio.timeout(patience):
                await asyncio.shield(self._refreshing)
        except (StoreError, TimeoutError) as error:
            if self._revision is None:
                raise StoreError("the store that holds the keys cannot be reached") from error

    def check(self, key: str) -> KeyRow | None:
        """Return the row of a key that is good, or None."""
        own_id, secret = _parts(key)
        row = self._rows.get(own_id)
        if row is None or row.revoked is not None:
            return None
        return row if hmac.compare_digest(row.hash, _hash(secret)) else None


def _by_id(reader: KeyReader) -> dict[str, KeyRow]:
    rows = reader.keys()
    return {row.id: row for row in rows}


def _parts(key: str) -> tuple[str, str]:
    """Return the id and the secret of a key; both are empty for what is none."""
    prefix, _, rest = key.partition("_")
    own_id, _, secret = rest.partition("_")
    return (own_id, secret) if prefix == PREFIX else ("", "")


def _hash(secret: str) -> str:
    # A plain hash, and no slow one as for passwords: 192 random bits cannot be guessed however
    # fast one tries, and a slow hash would be a way to keep the service busy.
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


Headers = Mapping[bytes, bytes]

_LOCAL_HOST: Final = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
#: Headers that a proxy adds; all that begin with `x-forwarded-` count too.
_OF_PROXIES: Final = frozenset({b"forwarded", b"via", b"x-real-ip"})
_FORWARDED: Final = b"x-forwarded-"
#: What browsers say of requests that no other site is behind.
_OWN_SITE: Final = (b"same-origin", b"none")


class Keyless:
    """Decides on requests without a key to a service that has no keys.

    Parameters
    ----------
    settings
        `host`, `allow_anonymous` and `cors_origins` are read. The origin `*` lets no page in:
        with neither keys nor names, every page that a user visits could export all users.
    """

    def __init__(self, settings: Settings) -> None:
        self._is_open = settings.is_local or settings.allow_anonymous
        self._is_for_all = settings.allow_anonymous
        self._origins = frozenset(settings.cors_origins) - {"*"}

    def refusal(self, headers: Headers) -> str | None:
        """Return why a request is refused, or None where it may do everything."""
        if not self._is_open:
            return "no_key"
        if not self._is_for_all:
            if any(name in _OF_PROXIES or name.startswith(_FORWARDED) for name in headers):
                return "forwarded"
            if not _LOCAL_HOST.fullmatch(headers.get(b"host", b"")):
                return "origin"
        return None if self._is_of_no_other_site(headers) else "site"

    def _is_of_no_other_site(self, headers: Headers) -> bool:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin in self._origins:
            return True
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site in _OWN_SITE
        # Older browsers, and http:// beyond this machine, send these two at most.
        page = origin or headers.get(b"referer", b"").decode("latin-1")
        return not page or _place_of(page) == headers.get(b"host", b"").decode("latin-1")


def _place_of(url: str) -> str | None:
    try:
        return urlsplit(url).netloc
    except ValueError:  # such as https://[
        return None
