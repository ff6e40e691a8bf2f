"""API keys: created, stored as hashes, checked at each request, revoked; and access without keys.

A key reads ``vgk_<id>_<secret>``. The id may be logged; the secret is shown once, when the key is
created, and stored nowhere.
"""

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from variegate.arrays import check_choice
from variegate.errors import InputError, NotFoundError, StoreError
from variegate.store import KeyRow, Reader, Store

if TYPE_CHECKING:
    from variegate.engine.settings import Settings  # which `variegate keys` need not load

Role = Literal["read", "write", "admin"]
#: Each may do what those before it may.
ROLES: Final[tuple[Role, ...]] = ("read", "write", "admin")
#: Roles of keys that earlier versions made.
_FORMER: Final[Mapping[str, Role]] = {"client": "write"}
PREFIX: Final = "vgk"
#: Where the store counts the changes of its keys, so that a running service notices one.
REVISION: Final = "keys_revision"
#: Seconds after which the keys are read again; a revoked key is refused within twice that.
FRESH_SECONDS: Final = 1.0
#: How long a request waits for a slow store to return revoked keys.
TIMEOUT_SECONDS: Final = 0.5
#: The same before the keys were read for the first time.
FIRST_TIMEOUT_SECONDS: Final = 4.0

Headers = Mapping[bytes, bytes]

_LOCAL_HOST: Final = re.compile(rb"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
#: Headers that a proxy adds, besides those that begin with `x-forwarded-`.
_PROXY_HEADERS: Final = frozenset({b"forwarded", b"via", b"x-real-ip"})
_FORWARDED: Final = b"x-forwarded-"
#: Values of Sec-Fetch-Site for requests that no other site caused.
_OWN_SITE: Final = (b"same-origin", b"none")


def new_key(role: str, name: str, now: float) -> tuple[str, KeyRow]:
    """Return a new key, and its row for the store.

    Examples
    --------
    >>> key, row = new_key("write", "shop", now=0.0)
    >>> key.startswith(f"vgk_{row.id}_"), key in repr(row)
    (True, False)
    """
    check_choice("role", role, ROLES)
    if not (name.isprintable() and 1 <= len(name.strip()) <= 100):
        raise InputError(f"`name` must be a line of 1 to 100 characters, got {name[:120]!r}")
    # Hexadecimal: it needs no quotes in a shell, and a double click selects all of it.
    key_id, secret = secrets.token_hex(5), secrets.token_hex(24)
    row = KeyRow(key_id, name.strip(), role, _hash(secret), now, None)
    return f"{PREFIX}_{key_id}_{secret}", row


def make_key(store: Store, role: str, name: str) -> tuple[str, KeyRow]:
    """Create a key and store it; running services accept it within two seconds."""
    key, row = new_key(role, name, time.time())
    with store.batch() as batch:
        batch.add_key(row)
    return key, row


def revoke_key(store: Store, key_id: str) -> KeyRow:
    """Revoke a key by its id and return it, or raise NotFoundError."""
    with store.batch() as batch:
        rows = _rows_by_id(batch)
        # A whole key is accepted in place of its id; the secret must not be in a message.
        wanted = _split_key(key_id)[0] if key_id.startswith(f"{PREFIX}_") else key_id
        if wanted not in rows:
            raise NotFoundError(f"no key has the id {wanted[:40]!r}: see `variegate keys list`")
        batch.revoke_key(wanted, time.time())
        return rows[wanted]


def list_keys(store: Store) -> list[KeyRow]:
    """Return all keys, also revoked ones, oldest first."""
    with store.reading() as reader:
        return sorted(_rows_by_id(reader).values(), key=lambda row: (row.created, row.id))


class KeyCache:
    """The store's keys in memory; `check` does not use the database.

    Parameters
    ----------
    clock
        Returns seconds that only increase.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._rows: dict[str, KeyRow] = {}
        self._revision: str | None = None
        self._loaded_at = float("-inf")
        self._refreshing: asyncio.Future[None] | None = None

    @property
    def has_keys(self) -> bool:
        """Whether a key was ever created, revoked or not."""
        return bool(self._rows)

    @property
    def is_stale(self) -> bool:
        """Whether the keys should be read again."""
        return self._clock() - self._loaded_at > FRESH_SECONDS

    def load(self) -> None:
        """Read the keys, if they have changed since they were last read."""
        now = self._clock()
        with self._store.reading() as reader:
            revision = reader.meta(REVISION) or "0"
            if revision != self._revision:
                self._rows = _rows_by_id(reader)
                self._revision = revision
        self._loaded_at = now

    async def refresh(self) -> None:
        """Load the keys in a thread, once for all requests that arrive meanwhile.

        While the store cannot be reached, the keys in memory stay valid: a request that needs the
        store gets its own 503. If the keys were never read, StoreError is raised.
        """
        if self._refreshing is None or self._refreshing.done():
            loop = asyncio.get_running_loop()
            self._refreshing = loop.run_in_executor(None, self.load)
            # If it fails while nobody waits for it, its error must be retrieved here.
            self._refreshing.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._clock() - self._loaded_at <= 2 * FRESH_SECONDS:
            return
        timeout = FIRST_TIMEOUT_SECONDS if self._revision is None else TIMEOUT_SECONDS
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(self._refreshing)
        except (StoreError, TimeoutError) as error:
            if self._revision is None:
                raise StoreError("the store that holds the keys cannot be reached") from error

    def check(self, key: str) -> KeyRow | None:
        """Return the row of a valid key, or None."""
        key_id, secret = _split_key(key)
        row = self._rows.get(key_id)
        if row is None or row.revoked is not None:
            return None
        return row if hmac.compare_digest(row.hash, _hash(secret)) else None


class AnonymousAccess:
    """Decides on requests without a key, as long as no key was ever created.

    They are accepted from this machine, except from pages of other sites. Without keys, only the
    request's headers tell them apart: a reverse proxy on this machine makes every request look
    local, and a page of any site can send requests to 127.0.0.1 through its visitor's browser.

    Parameters
    ----------
    settings
        `host`, `allow_anonymous` and `cors_origins` are used. The origin `*` admits no page:
        without keys, every page that a user visits could export all users.
    """

    def __init__(self, settings: "Settings") -> None:
        self._is_open = settings.is_local or settings.allow_anonymous
        self._is_for_all = settings.allow_anonymous
        self._origins = frozenset(settings.cors_origins) - {"*"}

    def refusal(self, headers: Headers) -> str | None:
        """Return why a request is refused; None: it has the role admin."""
        if not self._is_open:
            return "no_key"
        if not self._is_for_all:
            if any(name in _PROXY_HEADERS or name.startswith(_FORWARDED) for name in headers):
                return "forwarded"
            if not _LOCAL_HOST.fullmatch(headers.get(b"host", b"")):
                return "origin"
        return "site" if self._is_cross_site(headers) else None

    def _is_cross_site(self, headers: Headers) -> bool:
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin in self._origins:
            return False
        site = headers.get(b"sec-fetch-site")
        if site is not None:
            return site not in _OWN_SITE
        # Older browsers, and http:// to other machines, send at most these two.
        page = origin or headers.get(b"referer", b"").decode("latin-1")
        return bool(page) and _host(page) != headers.get(b"host", b"").decode("latin-1")


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).netloc
    except ValueError:  # such as https://[
        return None


def _rows_by_id(reader: Reader) -> dict[str, KeyRow]:
    rows = reader.keys()
    return {row.id: row._replace(role=_FORMER.get(row.role, row.role)) for row in rows}


def _split_key(key: str) -> tuple[str, str]:
    """Return the id and the secret of a key; both are empty for anything else."""
    prefix, _, rest = key.partition("_")
    key_id, _, secret = rest.partition("_")
    return (key_id, secret) if prefix == PREFIX else ("", "")


def _hash(secret: str) -> str:
    # Not a slow hash as for passwords: 192 random bits cannot be guessed at any speed, and a slow
    # hash would allow clients to keep the service busy.
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
