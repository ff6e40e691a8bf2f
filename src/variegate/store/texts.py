"""What text the store takes: any that both databases can keep and find again."""

from collections.abc import Iterable
from typing import Final

from variegate.errors import InputError

#: Bytes of an id: PostgreSQL keeps 2704 in an entry of an index, and an entry may hold two ids
LONGEST_ID: Final = 1024

# No character takes more than four bytes.
_SURELY_SHORT: Final = LONGEST_ID // 4


def check_ids(name: str, ids: Iterable[str]) -> None:
    """Raise InputError for an id that is too long or that some database could not keep."""
    for text in ids:
        if len(text) > _SURELY_SHORT or "\0" in text or not text.isascii():
            _check_closely(name, text)


def check_text(name: str, text: str) -> None:
    """Raise InputError for text that some database could not keep."""
    _bytes_of(name, text)


def _check_closely(name: str, text: str) -> None:
    size = _bytes_of(name, text)
    if size > LONGEST_ID:
        raise InputError(f"`{name}` must be at most {LONGEST_ID} bytes long, got {size}")


def _bytes_of(name: str, text: str) -> int:
    if "\0" in text:
        raise InputError(f"`{name}` must hold no NUL character, got {text[:40]!r}")
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be text that UTF-8 can write, got {text[:40]!r}") from None
