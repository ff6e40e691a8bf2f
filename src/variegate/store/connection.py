"""A connection to PostgreSQL that waits for no answer longer than it may.

The server's own `statement_timeout` does not fire where the server, its machine or the way to it
stands still.
"""

import select
from collections.abc import Generator
from time import monotonic
from typing import Any, Final

import psycopg

#: Looks at what a server has sent of its own accord, before that counts as a server that talks
_LOOKS: Final = 4
#: Seconds without use after which a connection is asked whether it is still there
_IDLE: Final = 5.0


class NoAnswerError(psycopg.OperationalError):
    """The server did not answer in time; the connection is of no use after this."""


class LimitedConnection(psycopg.Connection[Any]):
    """Raises NoAnswerError where one wait for the server takes longer than `limit` seconds.

    Every statement, commit and rollback waits in `wait`; how long connecting may take is said by
    `connect_timeout`.
    """

    limit: float = 30.0
    _used_at: float = 0.0

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        """Let a generator of psycopg run to its end, but not for ever."""
        try:
            found = super().wait(_limited(gen, self.limit), *args, **options)
        except NoAnswerError:
            # A pipeline would wait once more on its way out.
            self.pgconn.finish()
            raise
        self._used_at = monotonic()
        return found

    def is_usable(self) -> bool:
        """Whether a connection from the pool can be used; NoAnswerError where nobody says."""
        if self.is_lost():
            return False
        if monotonic() - self._used_at < _IDLE:
            return True
        try:
            self.execute("SELECT 1")
            self.rollback()
        except NoAnswerError:
            raise
        except psycopg.Error:
            return False
        return True

    def is_lost(self) -> bool:
        """Whether the server has closed the connection, as far as is known on this side."""
        try:
            for _ in range(_LOOKS):
                if not _is_readable(self.pgconn.socket):
                    return False
                # What a server sends of its own accord: that a setting changed, or that it ends.
                self.pgconn.consume_input()
                self.pgconn.is_busy()
        except psycopg.Error:
            return True
        return False


def _limited(gen: Generator[Any, Any, Any], limit: float) -> Generator[Any, Any, Any]:
    """Give what `gen` gives; raise where it still waits after `limit` seconds.

    psycopg sends what is ready, and nothing several times in a second while nothing is.
    """
    deadline = monotonic() + limit
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and monotonic() > deadline:
                gen.close()
                raise NoAnswerError(f"the server did not answer within {limit:g} seconds")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


def _is_readable(socket: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return bool(select.select([socket], [], [], 0)[0])
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return bool(poll.poll(0))
