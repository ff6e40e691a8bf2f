"""The candidates of a request, from one object per item to one column per kind of data."""

from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from variegate.engine.offers import VECTOR_TYPE, ItemOffer
from variegate.errors import InputError, join_problems
from variegate.schemas import Candidate

#: Problems of one kind that a message names.
_NAMED = 5


def candidate_ids(candidates: Sequence[str | Candidate] | None) -> tuple[str, ...] | None:
    """Return the ids of a request's candidates."""
    if candidates is None:
        return None
    return tuple(one if isinstance(one, str) else one.id for one in candidates)


def offer_of(candidates: Sequence[str | Candidate] | None) -> ItemOffer | None:
    """Return what a request says about its candidates; None if they are ids only.

    Raises InputError with all that is wrong with them.
    """
    items = [one for one in candidates or () if isinstance(one, Candidate)]
    if not items:
        return None
    vectors = [_vector_bytes(one) for one in items]
    problems = [*_repeated(items), *_vector_problems(vectors)]
    if problems:
        raise InputError(join_problems(problems))
    scores = tuple(one.score for one in items)
    offer = ItemOffer(
        scores if any("score" in one.model_fields_set for one in items) else None,
        _columns([one.features for one in items], 0.0),
        b"".join(one for one in vectors if one is not None),
        _columns([one.attributes for one in items], None),
    )
    return None if offer == ItemOffer() else offer


def _columns(rows: Sequence[dict[str, Any] | None], missing: Any) -> dict[str, tuple[Any, ...]]:
    """Return the values of each name, with `missing` where a row has none."""
    names = dict.fromkeys(name for row in rows if row for name in row)
    return {name: tuple((row or {}).get(name, missing) for row in rows) for name in names}


def _vector_bytes(item: Candidate) -> bytes | None:
    """Return a vector as float32, empty if there is none; None if it is not base64 of numbers."""
    if not isinstance(item.vector, str):
        return np.array(item.vector or (), VECTOR_TYPE).tobytes()
    try:
        found = b64decode(item.vector, validate=True)
    except ValueError:  # binascii's error, and text that is not ASCII
        return None
    is_whole = found and len(found) % VECTOR_TYPE.itemsize == 0
    return found if is_whole and np.isfinite(np.frombuffer(found, VECTOR_TYPE)).all() else None


def _repeated(items: Sequence[Candidate]) -> Iterator[str]:
    counts = Counter(one.id for one in items)
    if len(counts) < len(items):
        for item, count in counts.most_common(_NAMED):
            if count > 1:
                yield f"`candidates` must have distinct ids, got {item!r:.80} {count} times"


def _vector_problems(vectors: Sequence[bytes | None]) -> Iterator[str]:
    lengths = [None if one is None else len(one) // VECTOR_TYPE.itemsize for one in vectors]
    longest = max((one for one in lengths if one is not None), default=0)
    wrong = [place for place, length in enumerate(lengths) if length != longest]
    for place in wrong[:_NAMED]:
        name, length = f"`candidates.{place}.vector`", lengths[place]
        if length is None:
            yield f"{name} must be numbers, or base64 of finite float32 numbers, 4 bytes each"
        elif length:
            yield f"{name} must have as many numbers as the longest, {longest}, got {length}"
        else:
            yield f"{name} is missing, and others have one"
    if len(wrong) > _NAMED:
        yield f"`candidates`: {len(wrong) - _NAMED} more vectors are wrong"
