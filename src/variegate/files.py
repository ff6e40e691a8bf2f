"""Files that are there whole or not at all."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from variegate.errors import DataError

#: What np.load, zipfile and json raise for a file that is cut off, overwritten or something else
BROKEN: Final = (
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def written_whole(path: str | Path) -> Iterator[BinaryIO]:
    """Give a file to write to, which takes the place of `path` only when all went well."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        file = beside.open("wb")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
        beside.replace(target)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
