"""How the clients parse responses: into the models of `schemas`, or DataError names the field."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from variegate.client.transport import Call, Page
from variegate.errors import ConflictError, DataError, InputError, StoreError, VariegateError
from variegate.schemas import (
    FailedSlate,
    History,
    ImportResult,
    ItemPage,
    ItemsProgress,
    Problem,
    RejectedItem,
    Slate,
    UpsertedItems,
)

Model = TypeVar("Model", bound=BaseModel)
PageModel = TypeVar("PageModel", History, ItemPage)
T = TypeVar("T")
#: The errors that end an import of items, by kind.
_ERRORS: Final[Mapping[str, type[VariegateError]]] = {
    "conflict": ConflictError,
    "invalid": InputError,
}


def parser(model: type[Model]) -> Callable[[bytes], Model]:
    """Return a function that parses a body, or raises DataError that names the field."""

    def parse(body: bytes) -> Model:
        try:
            return model.model_validate_json(body)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
        if problem["type"] == "json_invalid":
            raise _not_json()
        field = ".".join(map(str, problem["loc"])) or "body"
        raise DataError(
            f"the response's `{field}` is invalid: {problem['msg']}, got "
            f"{problem['input']!r:.80}: `url` must be the address of a variegate service of this "
            "client's version"
        )

    return parse


def pages(
    model: type[PageModel],
    items: Callable[[PageModel], tuple[T, ...]],
    path: Callable[[Any], str],
    position: Any = None,
) -> Call[Page[T]]:
    """Return the call for a page: `path` makes its path from the `next` of the page before."""

    def parse(body: bytes) -> Page[T]:
        page = parser(model)(body)
        following = None if page.next is None else pages(model, items, path, page.next)
        return Page(items(page), following)

    return Call("GET", path(position), parse)


def parse_upserted(body: bytes) -> tuple[str, ...]:
    """Return the ids of the items that were added or changed."""
    return parser(UpsertedItems)(body).items


def parse_import(body: bytes) -> int:
    """Return the number of users that were imported."""
    return parser(ImportResult)(body).imported


def parse_slate_line(line: bytes) -> Slate | FailedSlate:
    """Return a line of a batch: a slate, or why there is none."""
    is_failed = "error" in parse_object(line)
    return parser(FailedSlate)(line) if is_failed else parser(Slate)(line)


def parse_item_line(line: bytes) -> ItemsProgress | RejectedItem:
    """Return a line of an import of items, or raise the error that ended it."""
    content = parse_object(line)
    if "error" in content:
        error = parser(Problem)(json.dumps(content["error"]).encode())
        raise _ERRORS.get(error.kind, StoreError)(error.detail)
    return parser(RejectedItem)(line) if "message" in content else parser(ItemsProgress)(line)


def parse_object(line: bytes) -> dict[str, Any]:
    """Return a line of an export or a batch, or raise DataError."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise _not_json() from None
    if not isinstance(content, dict):
        raise DataError(f"a line of the response must be an object, got {content!r:.80}")
    return content


def _not_json() -> DataError:
    return DataError("the response must be JSON: `url` must be the address of a variegate service")


def ignore(_body: bytes) -> None:
    """Return nothing, whatever the response."""
    return
