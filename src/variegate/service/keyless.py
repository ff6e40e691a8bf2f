"""Who is let in while no key was ever made: this machine, and no page of another site.

Without keys the sender's headers are all there is to tell. A reverse proxy on this machine makes
every request of the world look like one of this machine; a page of any site can send requests
to 127.0.0.1 through its visitor's browser.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from variegate.engine.settings import Settings

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
