"""Answers that took a while, kept for whoever asks the same."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class LruCache:
    """The last answers by what was asked.

    Two threads that ask the same at once both work it out; neither waits for the other.

    Parameters
    ----------
    most
        Answers kept, the last ones that were asked for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = Lock()

    def get(self, asked: Hashable, make: Callable[[], Any]) -> Any:
        """Return the answer that is known, or make it; one that fails is not kept."""
        with self._lock:
            answer = self._answers.get(asked)
        if answer is None:
            answer = make()
        with self._lock:
            self._answers[asked] = answer
            self._answers.move_to_end(asked)
            if len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer
