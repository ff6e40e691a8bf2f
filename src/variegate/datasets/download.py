"""One file over HTTP, gone on with where it broke off."""

import re
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from variegate.errors import DataError, InputError

_CHUNK = 1 << 16
_RANGE_NOT_SATISFIABLE = 416


def download(
    url: str,
    part: Path,
    *,
    progress: Callable[[int, int | None], None] | None,
    timeout: float,
    otherwise: str,
) -> None:
    """Write what `url` gives to `part`, after what is there if the server can go on.

    A download that breaks off raises DataError and leaves what came in `part`. `otherwise`
    is what a person can do where there is no network.
    """
    if not re.match(r"https?://[^/\s]", url):
        raise InputError(f"`url` must begin with http:// or https://, got {url!r}")
    have = part.stat().st_size if part.exists() else 0
    try:
        with _opened(url, have, timeout) as response:
            done, total = _received(response, part, have, progress)
    except HTTPError as error:
        error.close()
        if error.code != _RANGE_NOT_SATISFIABLE or not have:
            raise DataError(f"{url}: the server says {error.code} {error.reason}") from None
        # There is nothing after what we have: it is whole, or it is of something else.
        return
    except (OSError, HTTPException, UnicodeError) as error:
        reason = getattr(error, "reason", None) or error
        raise DataError(f"{url}: cannot be fetched ({reason}): {otherwise}") from None
    if total is not None and done < total:
        raise DataError(f"{url}: broke off after {done} of {total} bytes: run it again to go on")


def _opened(url: str, have: int, timeout: float) -> HTTPResponse:
    headers = {"User-Agent": "variegate", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=timeout)  # noqa: S310
    return response


def _received(
    response: HTTPResponse,
    part: Path,
    have: int,
    progress: Callable[[int, int | None], None] | None,
) -> tuple[int, int | None]:
    """Write the body and return how many bytes are there, and how many there should be."""
    goes_on = bool(have) and response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    done = have if goes_on else 0
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    try:
        file = part.open("ab" if goes_on else "wb")
    except OSError as error:
        raise DataError(f"{part}: cannot be written: {error.strerror}") from None
    with file:
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
    return done, total
