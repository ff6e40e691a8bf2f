"""One way to ask both clients, so that every test is a test of both."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from variegate.client import AsyncClient, Client

#: Pauses that no test waits for.
QUICK = {"backoff": 0.001, "timeout": 20.0, "deadline": 60.0}


class Asking:
    """Calls a method of a new client; what is given bit by bit comes as a list."""

    def __init__(self, kind: str, url: str = "", **options: Any) -> None:
        self.kind, self.url, self.options = kind, url, {**QUICK, **options}

    def at(self, url: str, **options: Any) -> "Asking":
        """Return the same, of another address or with other options."""
        return Asking(self.kind, url, **{**self.options, **options})

    def __call__(self, name: str, *given: Any, **options: Any) -> Any:
        """Return what the method gives."""
        if self.kind == "async":
            return asyncio.run(self._later(name, *given, **options))
        with Client(self.url, **self.options) as client:
            got = getattr(client, name)(*given, **options)
            return list(got) if isinstance(got, Iterator) else got

    async def _later(self, name: str, *given: Any, **options: Any) -> Any:
        async with AsyncClient(self.url, **self.options) as client:
            got = getattr(client, name)(*given, **options)
            if isinstance(got, AsyncIterator):
                return [one async for one in got]
            return await got
