"""Values as messages show them: short, on one line, and text that can be sent."""

from typing import Final

_MOST: Final = 80


def shown(value: object) -> str:
    """Return how a message shows what came: never more than a line of it.

    Examples
    --------
    >>> shown("twelve"), shown({"a": 1}), shown("x" * 200)[-6:]
    ("'twelve'", 'an object', "xx...'")
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str | bytes) and len(value) > _MOST:
        text = repr(value[: _MOST - 3])
        return sendable(f"{text[:-1]}...{text[-1]}")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_MOST:
        return "a number of more than 80 digits"  # its text could take longer than the request
    text = "null" if value is None else repr(value)
    return sendable(text if len(text) <= 2 * _MOST else text[: 2 * _MOST] + "...")


def sendable(text: str) -> str:
    """Return the text without what UTF-8 cannot say, such as half of a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
