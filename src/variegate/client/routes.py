"""The routes of the service: each function returns the call that one method of a client sends.

`Client` and `AsyncClient` take their methods, with signatures and docstrings, from here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, Unpack
from uuid import uuid4

from variegate.client.encoding import (
    SlateOptions,
    checked_key,
    feature_numbers,
    id_list,
    import_bodies,
    json_body,
    json_bytes,
    moment_text,
    quote_id,
    reward_numbers,
    slate_options,
    with_query,
)
from variegate.client.parsing import (
    ignore,
    pages,
    parse_import,
    parse_item_line,
    parse_object,
    parse_slate_line,
    parse_upserted,
    parser,
)
from variegate.client.transport import Call, Page, Retry
from variegate.schemas import (
    CatalogueInfo,
    EventResult,
    FailedSlate,
    FeedbackResult,
    History,
    Item,
    ItemDetails,
    ItemPage,
    ItemsProgress,
    PastSlate,
    Prior,
    RejectedItem,
    Report,
    Slate,
    User,
)

_SLATES_PER_PAGE: Final = 50
_ITEMS_PER_PAGE: Final = 200


def recommend(
    user: str,
    k: int | None = None,
    *,
    instead_of: Slate | str | None = None,
    idempotency_key: str | None = None,
    **options: Unpack[SlateOptions],
) -> Call[Slate]:
    """Return a new slate for a user, who need not exist yet.

    Every call sends an idempotency key, so that a retry after a lost response returns the slate
    that was made, not a second one.

    Parameters
    ----------
    k
        Maximum number of items; by default the service's setting.
    candidates
        Ids to choose from, by default all items; or mappings with `id`, the ranker's `score`
        (None or nan if there is none) and, for an open catalogue, `features`, `vector` (a list or
        an array) and `attributes`.
    exclude
        Ids to leave out.
    where
        A condition on the attributes of the items to choose from, such as
        ``{"attribute": "price", "<=": 20}``.
    constraints
        What the slate must meet: a `Constraints`, or a mapping with any of `at_most`, `at_least`,
        `pins` and `relax`.
    strict
        Whether unknown ids in `candidates` and `exclude` are an error; by default they are
        skipped, and the slate has them as `unknown_ids`.
    diversity
        A `Diversity`, or a mapping with any of `scale`, `floor` and `ceiling`.
    explain
        Whether to return the parts of each item's score.
    allow_repeats
        Whether to include items that the user has been shown before.
    details
        Whether to return each item's attributes.
    instead_of
        A slate of this user without feedback, or its id: it is withdrawn, as if it had not been
        shown.
    idempotency_key
        Identifies this request: the same key again returns the same slate, also from another
        process. By default a new one for every call.
    """
    body = {"k": k, **slate_options(**options)}
    body["instead_of"] = instead_of.slate_id if isinstance(instead_of, Slate) else instead_of
    path = f"/v1/users/{quote_id('user', user)}/slates"
    headers = {"idempotency-key": checked_key(idempotency_key)}
    return Call("POST", path, parser(Slate), json_body(body), headers=headers)


def recommend_many(
    users: Iterable[str],
    k: int | None = None,
    *,
    idempotency_key: str | None = None,
    **options: Unpack[SlateOptions],
) -> Call[Slate | FailedSlate]:
    """Iterate over new slates for up to 1,000 users, as they are made, in any order.

    A user whose slate cannot be made has a `FailedSlate`; the others are made all the same. If the
    connection breaks, StoreError is raised: call it again with the same key, and users who had a
    slate get the same one.

    Parameters
    ----------
    users
        Distinct ids; users need not exist yet.
    k, candidates, exclude, where, constraints, strict, diversity, explain, allow_repeats, details
        As for `recommend`, for every user.
    idempotency_key
        Identifies this request of each user, as for `recommend`; by default a new one.
    """
    body = json_body({"users": id_list("users", users), "k": k, **slate_options(**options)})
    headers = {"idempotency-key": checked_key(idempotency_key)}
    return Call("POST", "/v1/slates", parse_slate_line, body, headers=headers)


def feedback(
    slate: Slate | str,
    rewards: Mapping[str, float],
    *,
    seen: Iterable[str] | None = None,
    event: str | None = None,
) -> Call[FeedbackResult]:
    """Report a user's feedback on a slate. The same report again changes nothing.

    Parameters
    ----------
    slate
        The slate, or its id.
    rewards
        Rewards from 0 to 1, by item id. An item that was seen and has no reward counts as 0.
    seen
        Ids of the items that the user looked at; by default all.
    event
        Id of this report: a report with the same id is counted once. By default its content
        identifies it.
    """
    slate_id = slate.slate_id if isinstance(slate, Slate) else slate
    body = {
        "rewards": reward_numbers(rewards),
        "seen": None if seen is None else id_list("seen", seen),
        "event": event,
    }
    path = f"/v1/slates/{quote_id('slate', slate_id)}/feedback"
    return Call("POST", path, parser(FeedbackResult), json_body(body))


def add_event(
    user: str,
    rewards: Mapping[str, float],
    *,
    event: str | None = None,
    time: datetime | None = None,
    allow_repeats: bool = False,
) -> Call[EventResult]:
    """Report what a user did with items outside slates, such as a purchase after a search.

    It teaches what the user likes. The user need not exist yet. Every call sends an id, so that a
    retry after a lost response is not counted twice.

    Parameters
    ----------
    rewards
        Rewards from 0 to 1, by item id.
    event
        Id of this event, such as the number of an order: one with the same id is counted once, also
        from another process. By default a new one for every call.
    time
        When it happened, with its time zone: stored, and not learnt from.
    allow_repeats
        Whether the items may be recommended at once; by default they count as seen.
    """
    body = {
        "rewards": reward_numbers(rewards),
        "event": str(uuid4()) if event is None else event,
        "time": None if time is None else moment_text(time),
        "allow_repeats": allow_repeats,
    }
    path = f"/v1/users/{quote_id('user', user)}/events"
    return Call("POST", path, parser(EventResult), json_body(body))


def user(user: str) -> Call[User]:
    """Return what was learnt about a user, in words and in numbers with intervals."""
    return Call("GET", f"/v1/users/{quote_id('user', user)}", parser(User))


def history(user: str) -> Call[Page[PastSlate]]:
    """Iterate over a user's slates and their feedback, newest first; fetched page by page."""
    path = f"/v1/users/{quote_id('user', user)}/history"
    return pages(
        History,
        lambda page: page.slates,
        lambda before: with_query(path, limit=_SLATES_PER_PAGE, before=before),
    )


def forget(user: str) -> Call[None]:
    """Delete all data about a user. Needs an admin key."""
    return Call("DELETE", f"/v1/users/{quote_id('user', user)}", ignore, removes=True)


def export_users() -> Call[dict[str, Any]]:
    """Iterate over the lines of a backup as they arrive. Needs an admin key.

    Each line is an object as `import_users` takes it: a header, then the items that were added,
    changed or retired at run time, fitted priors, and every user with all their data; a long
    history continues in further lines. If the connection breaks, StoreError is raised; the lines
    before it are complete.
    """
    return Call("GET", "/v1/export", parse_object)


def import_users(
    lines: Iterable[Mapping[str, Any]], *, replace: bool = False
) -> Iterator[Call[int]]:
    """Import the lines of `export_users`; return the number of users. Needs an admin key.

    They are sent in requests of some megabytes. Each request is checked before any of it is
    written, and each user is imported as a whole or not at all; existing data with the same content
    counts as imported. After an error the same lines can be sent again.

    Parameters
    ----------
    replace
        Whether to replace existing users, items and priors whose content differs; by default
        they raise ConflictError.
    """
    path = with_query("/v1/import", replace="true" if replace else None)
    for body in import_bodies(dict(line) for line in lines):
        yield Call("POST", path, parse_import, body, "application/x-ndjson")


def catalogue() -> Call[CatalogueInfo]:
    """Return the names of features, distances and attributes, and the policies."""
    return Call("GET", "/v1/catalogue", parser(CatalogueInfo))


def items(search: str = "", *, where: Mapping[str, Any] | None = None) -> Call[Page[Item]]:
    """Iterate over the items whose title or id contains a text; fetched page by page.

    Parameters
    ----------
    where
        A condition on their attributes, such as ``{"attribute": "price", "<=": 20}``.
    """
    condition = None if where is None else json_bytes(dict(where), "`where`").decode()
    return pages(
        ItemPage,
        lambda page: page.items,
        lambda after: with_query(
            "/v1/items", search=search, limit=_ITEMS_PER_PAGE, after=after, where=condition
        ),
    )


def item(item: str) -> Call[ItemDetails]:
    """Return an item with all its data."""
    return Call("GET", f"/v1/items/{quote_id('item', item)}", parser(ItemDetails))


def add_items(items: Iterable[Mapping[str, Any]]) -> Call[tuple[str, ...]]:
    """Add or change items, all or none; return their ids. Needs an admin key.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features` (in order, or by name) and
        `distances`. An existing item keeps what is left out; a new one needs features and
        distances.
    """
    body = json_body({"items": [dict(item) for item in items]})
    return Call("POST", "/v1/items", parse_upserted, body)


def change_item(
    item: str,
    *,
    title: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    features: Sequence[float] | Mapping[str, float] | None = None,
    distances: Mapping[str, Any] | None = None,
) -> Call[tuple[str, ...]]:
    """Add or change one item, as `add_items` does; a retired item becomes active again."""
    return _item_call("PUT", item, title, attributes, features, distances, None)


def patch_item(
    item: str,
    *,
    title: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    features: Sequence[float] | Mapping[str, float] | None = None,
    distances: Mapping[str, Any] | None = None,
    retired: bool | None = None,
) -> Call[tuple[str, ...]]:
    """Change one existing item. Needs an admin key.

    What is left out stays as it is, also features that are not named. An attribute that is None
    becomes unknown.

    Parameters
    ----------
    retired
        Whether the item is left out of slates; by default as it is.
    """
    return _item_call("PATCH", item, title, attributes, features, distances, retired)


def _item_call(
    verb: str,
    item: str,
    title: str | None,
    attributes: Mapping[str, Any] | None,
    features: Sequence[float] | Mapping[str, float] | None,
    distances: Mapping[str, Any] | None,
    retired: bool | None,
) -> Call[tuple[str, ...]]:
    body = {
        "title": title,
        "attributes": None if attributes is None else dict(attributes),
        "features": None if features is None else feature_numbers(features),
        "distances": None if distances is None else dict(distances),
        "retired": retired,
    }
    path = f"/v1/items/{quote_id('item', item)}"
    return Call(verb, path, parse_upserted, json_body(body))


def retire_item(item: str) -> Call[None]:
    """Retire an item: it is no longer recommended. Needs an admin key."""
    return Call("DELETE", f"/v1/items/{quote_id('item', item)}", ignore)


def import_items(
    items: Iterable[Mapping[str, Any]] | bytes,
    *,
    file_format: Literal["csv", "jsonl"] = "csv",
    id_column: str = "id",
    title_column: str | None = None,
    separator: str = ",",
    list_separator: str = "|",
) -> Call[ItemsProgress | RejectedItem]:
    """Add or change any number of items, while lists go on. Needs an admin key.

    Iterate over the result: it has a `RejectedItem` for each line that is invalid, which does not
    stop the others, and an `ItemsProgress` after each piece; that of the last has `done`. If the
    connection breaks, StoreError is raised: call it again, items that are the same do not change.

    Parameters
    ----------
    items
        As for `add_items`, or the content of a file of them.
    file_format
        Of such a file: CSV with a header, or lines of JSON.
    id_column, title_column
        The columns of ids and titles of a CSV file; the others are attributes of that name.
    separator, list_separator
        Between two columns of a CSV file, and between two labels of a list.
    """
    if not isinstance(items, bytes):
        items = b"".join(json_bytes(dict(item), "`items`") + b"\n" for item in items)
        file_format = "jsonl"
    if file_format == "csv":
        path = with_query(
            "/v1/items/import",
            id_column=id_column,
            title_column=title_column,
            separator=separator,
            list_separator=list_separator,
        )
        return Call("POST", path, parse_item_line, items, "text/csv")
    return Call("POST", "/v1/items/import", parse_item_line, items, "application/x-ndjson")


def retire_items(ids: Iterable[str]) -> Call[ItemsProgress | RejectedItem]:
    """Retire any number of items, as `import_items` does. Needs an admin key."""
    return import_items({"id": item, "retired": True} for item in id_list("ids", ids))


def restore_items(ids: Iterable[str]) -> Call[ItemsProgress | RejectedItem]:
    """Let retired items be recommended again, as `import_items` does. Needs an admin key."""
    return import_items({"id": item, "retired": False} for item in id_list("ids", ids))


def report() -> Call[Report]:
    """Compare the policies over their users, with intervals. Needs an admin key."""
    return Call("GET", "/v1/report", parser(Report))


def prior(policy: str) -> Call[Prior]:
    """Return the prior of a policy's new users. Needs an admin key."""
    return Call("GET", _prior_path(policy), parser(Prior))


def fit_prior(policy: str) -> Call[Prior]:
    """Fit the prior of a policy to its users, and return it. Needs an admin key.

    With too few users it raises ConflictError. With many it takes a while: pass a `timeout` of
    minutes to the client.
    """
    return Call("POST", _prior_path(policy), parser(Prior), retry=Retry.IF_NOT_EXECUTED)


def drop_prior(policy: str) -> Call[Prior]:
    """Return to the prior of the policy's spec. Needs an admin key."""
    return Call("DELETE", _prior_path(policy), parser(Prior))


def metrics() -> Call[str]:
    """Return the service's metrics in the Prometheus text format."""
    return Call("GET", "/metrics", lambda body: body.decode())


def ping() -> Call[None]:
    """Check the address and the key."""
    return Call("GET", "/v1/ping", ignore)


def alive() -> Call[None]:
    """Return whether the process is alive."""
    return Call("GET", "/healthz", ignore, retry=Retry.NEVER)


def ready() -> Call[None]:
    """Return whether the service can reach its store."""
    return Call("GET", "/readyz", ignore, retry=Retry.NEVER)


def _prior_path(policy: str) -> str:
    return f"/v1/policies/{quote_id('policy', policy)}/prior"
