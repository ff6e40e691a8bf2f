"""Large request bodies, as files."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from tempfile import mkstemp
from typing import IO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from variegate.errors import StoreError


@asynccontextmanager
async def spooled(request: Request) -> AsyncIterator[str]:
    """Write the request's body to a file, so that it is never in memory as a whole."""
    number, path = mkstemp(prefix="variegate-upload-")
    try:
        with open(number, "wb") as file:
            async for piece in request.stream():
                await run_in_threadpool(_write, file, piece)
        yield path
    finally:
        os.unlink(path)


def _write(file: IO[bytes], piece: bytes) -> None:
    try:
        file.write(piece)
        file.flush()  # here, where a full disk gets a response
    except OSError as error:
        raise StoreError(f"the body cannot be written to a file: {error.strerror}") from None
