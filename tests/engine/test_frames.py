"""Messages through a socket come out as they went in, whatever pieces they come in."""

from typing import Any

import pytest

from variegate.engine import Feedback, RecommendRequest
from variegate.engine.process import FrameDecoder, encode_frame
from variegate.errors import NotFoundError
from variegate.policies import Dial

MESSAGES: list[Any] = [
    None,
    (1, 2.5, RecommendRequest("ann", 3, ("a", "b"), dial=Dial(2.0), instead_of="x")),
    (2, 2.5, Feedback("slate", {"a": 1.0}, ("a",))),
    ([(1, {"items": ["é" * 5000]})], [("batch", 2.0)]),
]


@pytest.mark.parametrize("piece", [1, 3, 7, 4096, 10**6])
def test_messages_come_whole_in_pieces_of_any_size(piece: int) -> None:
    wire = b"".join(map(encode_frame, MESSAGES))
    frames = FrameDecoder()

    found: list[Any] = []
    for at in range(0, len(wire), piece):
        found += frames.feed(wire[at : at + piece])

    assert found == MESSAGES


def test_refusals_keep_their_kind_and_their_words() -> None:
    (error,) = FrameDecoder().feed(encode_frame(NotFoundError("no item 'x'")))

    assert type(error) is NotFoundError
    assert str(error) == "no item 'x'"
