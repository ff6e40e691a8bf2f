"""What an id of a user or an item is: the one rule for requests, imports and catalogues.

Every id that the rule allows can be stored, and addressed in a path (`variegate.service.routing`).
"""

import re
from typing import Final

from variegate.engine.formatting import shown
from variegate.errors import InputError

LONGEST: Final = 200
#: No control characters: ids stand in logs and URLs.
PATTERN: Final = r"^[^\x00-\x1f\x7f]+$"
_ALLOWED: Final = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,200}")


def check_id(name: str, text: object) -> str:
    """Return an id that the service can keep and address, or raise InputError.

    Parameters
    ----------
    name
        What to call the id in the message.

    Examples
    --------
    >>> check_id("user", "a/b")
    'a/b'
    """
    if not isinstance(text, str) or not _ALLOWED.fullmatch(text):
        raise InputError(
            f"`{name}` must be text of 1 to {LONGEST} characters without control characters, "
            f"got {shown(text)}"
        )
    return text
