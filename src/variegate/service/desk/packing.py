"""A slate as bytes: what a list taught with when it was shown, to the last digit."""

import secrets
import time
from typing import Final

import numpy as np

from variegate.arrays import IndexArray
from variegate.errors import StateError
from variegate.policies import State
from variegate.slate import Slate
from variegate.store import SlateRow

_KIND: Final = "slate"
#: Crockford's digits: no I, L, O or U, so that an id can be read aloud.
_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def packed_slate(slate: Slate) -> bytes:
    """Return the rows, features and scores of a slate."""
    arrays = {
        "items": slate.items.astype(np.float64),
        "relevance": slate.relevance,
        "diversity": slate.diversity,
        "scores": slate.scores,
        "coverage": slate.coverage,
    }
    return State(_KIND, arrays).to_bytes()


def unpacked_slate(row: SlateRow) -> Slate:
    """Return the slate of a row, with the features that it was shown with."""
    found = State.from_bytes(row.features)
    if found.policy != _KIND:
        raise StateError(f"slate {row.id!r} holds {found.policy!r}, not a slate")
    arrays = found.arrays
    items: IndexArray = arrays["items"].astype(np.intp)
    return Slate(
        items,
        row.items,
        arrays["relevance"],
        arrays["diversity"],
        arrays["scores"],
        arrays["coverage"],
    )


def new_slate_id(now: float) -> str:
    """Return an id of 26 digits that sorts by time and that nobody can guess."""
    number = int(now * 1000) << 80 | secrets.randbits(80)
    return "".join(_DIGITS[number >> shift & 31] for shift in range(125, -1, -5))


def current_time() -> float:
    """Return seconds since 1970."""
    return time.time()
