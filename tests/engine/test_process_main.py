"""The engine process's work, in a thread of the test: what it is sent is done, and answered."""

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import pytest

from variegate.engine import Feedback, RecommendRequest
from variegate.engine.process import FrameDecoder, encode_frame
from variegate.engine.process_main import SocketChannel
from variegate.engine.queue import MAX_BATCH, BatchLoop, QueuedCommand
from variegate.errors import InputError, NotFoundError
from variegate.policies import Dial


class Front:
    """The other end of an engine process."""

    def __init__(self, execute: Callable[[Sequence[Any]], list[Any]]) -> None:
        self.socket, self._back = socket.socketpair()
        self.socket.settimeout(20)
        self.channel = SocketChannel(self._back)
        self.loop = BatchLoop(execute, lambda: False, timeout=5.0)
        self.thread = threading.Thread(target=self.loop.run, args=(self.channel,))
        self._frames = FrameDecoder()

    def send(self, *operations: Any, since: float | None = None) -> None:
        """Hand operations over, in one piece, numbered from 0."""
        waiting = monotonic() if since is None else since
        whole = [
            encode_frame(QueuedCommand(number, waiting, one))
            for number, one in enumerate(operations)
        ]
        self.socket.sendall(b"".join(whole))

    def result(self, count: int) -> dict[int, Any]:
        """Return what becomes of so many operations."""
        outcomes: dict[int, Any] = {}
        while len(outcomes) < count:
            for result, _observed in self._frames.feed(self.socket.recv(65536)):
                outcomes.update(result)
        return outcomes

    def close(self) -> None:
        """End the engine."""
        self.socket.close()
        self.thread.join(20)
        self._back.close()


@pytest.fixture
def front() -> Iterator[Callable[..., Front]]:
    fronts: list[Front] = []

    def made(execute: Callable[[Sequence[Any]], list[Any]], *, begun: bool = True) -> Front:
        fronts.append(Front(execute))
        if begun:
            fronts[-1].thread.start()
        return fronts[-1]

    yield made
    for one in fronts:
        one.close()


def test_operations_are_answered_by_number(front: Callable[..., Front]) -> None:
    it = front(lambda operations: [one.upper() for one in operations])

    it.send("a", "b", "c")

    assert it.result(3) == {0: "A", 1: "B", 2: "C"}


def test_what_waits_is_done_together_and_never_too_much_at_once(
    front: Callable[..., Front],
) -> None:
    sizes: list[int] = []

    def execute(operations: Sequence[Any]) -> list[Any]:
        sizes.append(len(operations))
        return list(operations)

    it = front(execute, begun=False)
    it.send(*range(MAX_BATCH + 10))
    it.thread.start()

    assert len(it.result(MAX_BATCH + 10)) == MAX_BATCH + 10
    assert sizes == [MAX_BATCH, 10]


def test_a_refusal_is_reported_as_it_is_and_a_fault_in_words(front: Callable[..., Front]) -> None:
    class OddError(Exception):
        """Cannot be put together again from its words."""

        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    def execute(operations: Sequence[Any]) -> list[Any]:
        if "fault" in operations:
            raise OddError(1, 2)
        return [InputError("`k` must be 1") for _ in operations]

    it = front(execute)
    it.send("refused", "fault")
    result = it.result(2)

    assert (type(result[0]), str(result[0])) == (InputError, "`k` must be 1")
    assert (type(result[1]), str(result[1])) == (RuntimeError, "OddError: 1 and 2")


def test_what_has_waited_too_long_is_not_begun(front: Callable[..., Front]) -> None:
    done: list[Any] = []

    def execute(operations: Sequence[Any]) -> list[Any]:
        done.extend(operations)
        return list(operations)

    it = front(execute)
    it.send("late", since=monotonic() - 6.0)

    assert "too busy" in str(it.result(1)[0])
    assert done == []


def test_what_was_observed_is_reported_once_with_the_outcomes(front: Callable[..., Front]) -> None:
    it = front(list)
    it.channel.observe("batch", 3)
    it.channel.answer([(7, "one")])
    it.channel.answer([(8, "two")])

    messages = list(FrameDecoder().feed(it.socket.recv(65536)))

    assert messages == [([(7, "one")], [("batch", 3)]), ([(8, "two")], [])]


def test_what_came_before_the_end_is_done_though_nobody_waits(
    front: Callable[..., Front],
) -> None:
    done: list[Any] = []

    def execute(operations: Sequence[Any]) -> list[Any]:
        done.extend(operations)
        return list(operations)

    it = front(execute, begun=False)
    it.send("a", "b")
    it.socket.close()
    it.thread.start()
    it.thread.join(20)

    assert not it.thread.is_alive()
    assert done == ["a", "b"]


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
