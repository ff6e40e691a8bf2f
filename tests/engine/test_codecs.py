"""A slate as bytes comes back to the last bit, also one that an earlier version wrote."""

import struct

import numpy as np
import pytest

from variegate.engine.codecs import pack_slate, unpack_slate
from variegate.errors import StateError
from variegate.model.slate import Slate
from variegate.store import SlateRow


def slate(k: int, d: int, m: int, topics: int = 0, *, there: float = 0.3, seed: int = 0) -> Slate:
    rng = np.random.default_rng(seed)
    z = np.where(rng.random((k, d)) < there, rng.normal(size=(k, d)), 0.0)
    return Slate(
        rng.integers(0, 1000, k),
        tuple(f"i{number}" for number in range(k)),
        z,
        rng.normal(size=(k, m)),
        rng.normal(size=k),
        rng.random((k, topics)),
    )


def row(features: bytes, items: tuple[str, ...]) -> SlateRow:
    return SlateRow(
        "one", "ann", "lmdh", 0.0, None, False, len(items), items, features,
        None, {}, [None] * len(items), [False] * len(items), {}, 0.0, False, {}, None, None,
    )  # fmt: skip


def written_before(one: Slate) -> bytes:
    """Return what the first version wrote: every number, z between the scores and x."""
    sizes = one.relevance.shape[1], one.diversity.shape[1], one.coverage.shape[1]
    head = struct.pack("<BxHIII", 1, len(one), *sizes)
    parts = one.scores, one.relevance, one.diversity, one.coverage
    return head + one.items.astype("<i8").tobytes() + b"".join(part.tobytes() for part in parts)


def check_same(found: Slate, expected: Slate) -> None:
    assert found.ids == expected.ids
    for name in ("items", "relevance", "diversity", "scores", "coverage"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(("d", "m", "topics"), [(0, 1, 0), (1, 0, 0), (7, 2, 0), (40, 4, 5)])
@pytest.mark.parametrize("there", [0.0, 0.2, 1.0])
def test_slate_comes_back_as_it_was(k: int, d: int, m: int, topics: int, there: float) -> None:
    one = slate(k, d, m, topics, there=there)

    check_same(unpack_slate(row(pack_slate(one), one.ids)), one)


def test_zeros_keep_their_sign() -> None:
    one = slate(1, 3, 1)
    one.relevance[:] = [[-0.0, 0.0, 2.0]]

    found = unpack_slate(row(pack_slate(one), one.ids))

    assert np.signbit(found.relevance).tolist() == [[True, False, False]]


@pytest.mark.parametrize(("d", "m", "topics"), [(0, 1, 0), (7, 2, 0), (40, 4, 5)])
def test_slate_of_the_first_version_is_read(d: int, m: int, topics: int) -> None:
    one = slate(5, d, m, topics)

    check_same(unpack_slate(row(written_before(one), one.ids)), one)


def test_labels_take_few_bytes() -> None:
    one = slate(10, 40, 4, there=0.2)

    assert len(pack_slate(one)) < 0.5 * len(written_before(one))


@pytest.mark.parametrize("cut", [1, 8, 100])
@pytest.mark.parametrize("write", [pack_slate, written_before])
def test_bytes_that_were_cut_off_are_refused(cut: int, write: object) -> None:
    one = slate(5, 7, 2)
    whole = pack_slate(one) if write is pack_slate else written_before(one)

    with pytest.raises(StateError, match="is damaged"):
        unpack_slate(row(whole[:-cut], one.ids))
    with pytest.raises(StateError, match="is damaged"):
        unpack_slate(row(whole + bytes(cut), one.ids))


def test_bytes_of_a_later_version_are_refused() -> None:
    one = slate(2, 2, 1)

    with pytest.raises(StateError, match="does not read"):
        unpack_slate(row(b"\x09" + pack_slate(one)[1:], one.ids))
