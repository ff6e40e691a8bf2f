"""Users between a file and a store."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from variegate.cli.console import Progress
from variegate.errors import ConflictError, DataError, VariegateError
from variegate.service.desk.lines import user_line
from variegate.service.desk.moving import Importing, exported
from variegate.service.desk.settling import Settler

#: Users in one transaction: a running service waits for no more than that.
CHUNK: Final = 100

#: A line's number and what it holds
Line = tuple[int, dict[str, Any]]


def exported_lines(settler: Settler) -> Iterator[bytes]:
    """Give every user as a line of JSON, by id."""
    after: str | None = None
    while True:
        # No transaction spans a pause of whoever reads.
        with settler.store.reading() as reader:
            users = exported(reader, settler.shelf.as_of(reader), after)
        if not users:
            return
        for user in users:
            text = json.dumps(user, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            yield text.encode() + b"\n"
        after = users[-1]["user"]


def imported(
    settler: Settler,
    path: str,
    *,
    replace: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> int:
    """Take in the users of a file and return how many, or raise DataError or ConflictError.

    Every line is looked at first; what can be wrong with one alone changes nothing.
    """
    total, done = _checked(settler, path, replace=replace), 0
    for chunk in _chunks(_lines(path)):
        users = [user for _number, user in chunk]
        (outcome,) = settler([Importing(users, replace)])
        if isinstance(outcome, VariegateError):
            _blame(settler, path, chunk, outcome, replace=replace, done=done)
        done += len(chunk)
        progress(done, total)
    return done


def _checked(settler: Settler, path: str, *, replace: bool) -> int:
    """Return how many users there are, if all lines are users and none is there twice."""
    places: dict[str, int] = {}
    for chunk in _chunks(_lines(path)):
        for number, line in chunk:
            user = _checked_id(path, number, line)
            if user in places:
                raise DataError(f"{path}:{number}: user {user!r} stands in line {places[user]} too")
            places[user] = number
        if replace:
            continue
        with settler.store.reading() as reader:
            known = reader.users(line["user"] for _number, line in chunk)
        for user in known:
            raise ConflictError(
                f"{path}:{places[user]}: user {user!r} is here already: --replace replaces them"
            )
    return len(places)


def _checked_id(path: str, number: int, line: dict[str, Any]) -> str:
    try:
        return user_line(number, line).user
    except DataError as error:
        raise DataError(f"{path}:{number}: {str(error).removeprefix(f'user {number}: ')}") from None


def _lines(path: str) -> Iterator[Line]:
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _parsed(line, f"{path}:{number}")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _parsed(line: bytes, where: str) -> dict[str, Any]:
    try:
        user = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: must be JSON as `users export` writes it") from None
    if not isinstance(user, dict):
        raise DataError(f"{where}: must be an object, got {type(user).__name__}")
    return user


def _chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    chunk: list[Line] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class _TakenBackError(Exception):
    """Ends a transaction that was for a try only."""


def _blame(
    settler: Settler,
    path: str,
    chunk: Sequence[Line],
    error: VariegateError,
    *,
    replace: bool,
    done: int,
) -> NoReturn:
    """Raise the error with the line that it comes from, and say how far the import got."""
    so_far = f"; the {done} users above are in: go on with --replace" if done else ""
    for number, user in chunk:
        try:
            with settler.store.batch() as batch:
                Importing([user], replace).apply_alone(batch, settler)
                raise _TakenBackError
        except _TakenBackError:
            continue
        except (DataError, ConflictError) as own:
            raise type(own)(f"{path}:{number}: {own}{so_far}") from None
    raise type(error)(f"{path}: {error}{so_far}")
