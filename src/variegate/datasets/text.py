"""Bytes of a text file, made UTF-8 with one kind of line end."""

import codecs

from variegate.errors import DataError, NotFoundError

#: How a file of UTF-16 text begins, in either byte order
_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def as_utf8(content: bytes, where: str, encoding: str = "utf-8") -> bytes:
    r"""Return the text of `content` as UTF-8 without a mark at its start, lines ending in \n.

    `where` names the file in errors. Bytes that are no text in `encoding` raise DataError
    with their line, an `encoding` that nobody knows raises NotFoundError.
    """
    if _codec(encoding) == "utf-8":
        text = content.removeprefix(codecs.BOM_UTF8)
        if not text.isascii():
            _check_utf8(text, where)
    else:
        text = _encoded_anew(content, where, encoding)
    if b"\r" not in text:
        return text
    text = text.replace(b"\r\n", b"\n")
    return text if b"\n" in text else text.replace(b"\r", b"\n")


def _codec(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise NotFoundError(
            f"`encoding` must be one that Python knows, like utf-8 or latin-1, got {encoding!r}"
        ) from None


def _check_utf8(text: bytes, where: str) -> None:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        likely = "utf-16" if text.startswith(_UTF_16_MARKS) else "latin-1"
        raise DataError(
            f"{where}:{_line(text, error.start)}: byte 0x{text[error.start]:02x} is not UTF-8: "
            f'if the file is of another encoding, say which, like encoding="{likely}"'
        ) from None


def _encoded_anew(content: bytes, where: str, encoding: str) -> bytes:
    try:
        return content.decode(encoding).removeprefix("\ufeff").encode("utf-8")
    except UnicodeDecodeError as error:
        line = _line(content, error.start)
        reason = " ".join(error.reason.split())
        raise DataError(f"{where}:{line}: not {encoding} text: {reason}") from None
    except UnicodeError as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not {encoding} text: {reason}") from None
    except LookupError:
        raise NotFoundError(f"`encoding` must be one of text, got {encoding!r}") from None


def _line(content: bytes, position: int) -> int:
    return content.count(b"\n", 0, position) + 1
