"""Lists and feedback."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode
from uuid import uuid4

from variegate.client.answers import (
    CatalogueFacts,
    Feedback,
    Item,
    PastSlate,
    Prior,
    Report,
    Slate,
    User,
    WholeItem,
)
from variegate.client.reading import json_of, part, parts, reading
from variegate.client.transport import Call, Page, Repeat
from variegate.errors import InputError

T = TypeVar("T")


def quoted(name: str, text: object) -> str:
    """Return an id as a path has it, in one segment, or raise InputError.

    Examples
    --------
    >>> quoted("user", "ana b?"), quoted("user", "a/b"), quoted("user", "..")
    ('ana%20b%3F', 'a%2Fb', '%2E%2E')
    """
    if not isinstance(text, str) or not text:
        raise InputError(f"`{name}` must be text, got {text!r:.80}")
    if not text.strip("."):
        return "%2E" * len(text)  # dots alone would lead up the path
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise InputError(f"`{name}` must be text that UTF-8 can hold, got {text!r:.80}") from None


def asked(path: str, **query: str | int | None) -> str:
    """Return a path with a query; what is None is left out."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def ids(name: str, given: Iterable[str]) -> list[str]:
    """Return ids as a body has them."""
    if isinstance(given, str):
        raise InputError(f"`{name}` must be several ids, got the text {given!r:.80}")
    return list(given)


def json_body(content: dict[str, Any]) -> bytes:
    """Return a body of what was given: None stands for what was not."""
    given = {name: value for name, value in content.items() if value is not None}
    return json_line(given, ", ".join(f"`{name}`" for name in given))


def json_line(content: Any, name: str) -> bytes:
    """Return JSON on one line, or raise InputError."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} must be what JSON can hold: {error}") from None


def paged(kind: type[T], name: str, path: Callable[[Any], str], after: Any = None) -> Call[Page[T]]:
    """Return the call for a page of things that an answer has under a name.

    Parameters
    ----------
    path
        Makes a page's path of what the answer before gave as `next`; None for the first.
    """

    def read(body: bytes) -> Page[T]:
        found = part(dict, json_of(body))
        more = found.get("next")
        return Page(
            parts(kind, found.get(name), name),
            None if more is None else paged(kind, name, path, more),
        )

    return Call("GET", path(after), read)


_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Diversity:
    """The diversity dial: how varied one list shall be, beside what was learnt.

    Parameters
    ----------
    scale
        Multiplies the learnt wish for variety: 0 none, 1 as learnt, 2 double.
    floor, ceiling
        The least and the most weight of variety, for all distances or by a distance's name.
    """

    scale: float = 1.0
    floor: float | Mapping[str, float] | None = None
    ceiling: float | Mapping[str, float] | None = None


def recommend(
    user: str,
    k: int | None = None,
    *,
    candidates: Iterable[str] | None = None,
    exclude: Iterable[str] = (),
    diversity: Diversity | Mapping[str, Any] | None = None,
    explain: bool = False,
    allow_repeats: bool = False,
    details: bool = False,
    instead_of: Slate | str | None = None,
    idempotency_key: str | None = None,
) -> Call[Slate]:
    """Give a user a list; a user need not be known before.

    Every call sends an idempotency key, so that an attempt after a lost answer returns the list
    that was made, not a second one.

    Parameters
    ----------
    k
        Items in the list, at most; as many as the service is set to, if not given.
    candidates
        Ids to choose from; all, if not given.
    exclude
        Ids not to choose.
    diversity
        A `Diversity`, or a mapping with any of `scale`, `floor` and `ceiling`.
    explain
        Whether each item comes with the parts of its score.
    allow_repeats
        Whether items may come again that the user was shown before.
    details
        Whether each item comes with its attributes.
    instead_of
        A list of the user's that was not answered, or its id: it is taken back, as if it had not
        been shown.
    idempotency_key
        Identifies this request: the same key again returns the same list, also from another
        process. A new one for every call, if not given.
    """
    dial = asdict(diversity) if isinstance(diversity, Diversity) else diversity
    wish = {
        "k": k,
        "candidates": None if candidates is None else ids("candidates", candidates),
        "exclude": ids("exclude", exclude),
        "diversity": None if dial is None else dict(dial),
        "explain": explain,
        "allow_repeats": allow_repeats,
        "details": details,
        "instead_of": instead_of.slate_id if isinstance(instead_of, Slate) else instead_of,
    }
    path = f"/v1/users/{quoted('user', user)}/slates"
    headers = {"idempotency-key": _key(idempotency_key)}
    return Call("POST", path, reading(Slate), json_body(wish), headers=headers)


def feedback(
    slate: Slate | str,
    rewards: Mapping[str, float],
    *,
    seen: Iterable[str] | None = None,
    event: str | None = None,
) -> Call[Feedback]:
    """Say what the user made of a list. Said again, it changes nothing.

    Parameters
    ----------
    slate
        The list, or its id.
    rewards
        From 0 to 1, by item id. An item that was seen and is not named earned 0.
    seen
        Ids that the user looked at; all, if not given.
    event
        Names this report, so that it counts once however often it is sent. Without one, what
        the report says is its name.
    """
    slate_id = slate.slate_id if isinstance(slate, Slate) else slate
    report = {
        "rewards": _numbers(rewards),
        "seen": None if seen is None else ids("seen", seen),
        "event": event,
    }
    path = f"/v1/slates/{quoted('slate', slate_id)}/feedback"
    return Call("POST", path, reading(Feedback), json_body(report))


def _key(key: str | None) -> str:
    if key is None:
        return str(uuid4())
    if not _KEY.fullmatch(key):
        raise InputError(
            "`idempotency_key` must be 1 to 200 printable ASCII characters without spaces, "
            f"got {key!r:.80}"
        )
    return key


def _numbers(rewards: Mapping[str, float]) -> dict[str, float]:
    try:
        return {item: float(reward) for item, reward in rewards.items()}
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"`rewards` must be numbers by item id, got {rewards!r:.80}") from None


_LINES: Final = "application/x-ndjson"
#: Lists in one answer, of a user with many.
_SLATES_PER_PAGE: Final = 50
#: Bytes of lines in one request; the service takes 64 million.
_AT_ONCE: Final = 4_000_000


def user(user: str) -> Call[User]:
    """Return what was learnt of a user, in words and in numbers with intervals."""
    return Call("GET", f"/v1/users/{quoted('user', user)}", reading(User))


def history(user: str) -> Call[Page[PastSlate]]:
    """Give a user's lists and what came of them, the newest first; fetched page by page."""
    path = f"/v1/users/{quoted('user', user)}/history"
    return paged(
        PastSlate, "slates", lambda before: asked(path, limit=_SLATES_PER_PAGE, before=before)
    )


def forget(user: str) -> Call[None]:
    """Forget a user wholly: what was learnt, shown and answered. Needs an admin key."""
    path = f"/v1/users/{quoted('user', user)}"
    return Call("DELETE", path, lambda _body: None, removes=True)


def export_users() -> Call[dict[str, Any]]:
    """Give the lines of a backup as they arrive. Needs an admin key.

    Each is an object as `import_users` takes it: a header, then the items that were added, changed
    or retired at run time, fitted priors, and every user with all that is known of them; the
    history of a user may go on in further lines. If the connection breaks midway, StoreError is
    raised; what came before it is whole.
    """
    return Call("GET", "/v1/export", lambda line: dict(part(dict, json_of(line))))


def import_users(
    lines: Iterable[Mapping[str, Any]], *, replace: bool = False
) -> Iterator[Call[int]]:
    """Take in lines that `export_users` gave; return how many users. Needs an admin key.

    They are sent in requests of some megabytes. A request is checked as a whole before anything
    of it is written, and each user is taken in whole or not at all; what is there already with
    the same content counts as imported. So after an error the same lines can be sent again.

    Parameters
    ----------
    replace
        Whether a user, an item or a prior that is there with other content is replaced; otherwise
        that is a ConflictError.
    """
    path = asked("/v1/import", replace="true") if replace else "/v1/import"
    for body in _pieces(dict(line) for line in lines):
        yield Call("POST", path, _imported, body, _LINES)


def _pieces(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Give the bodies of requests: the header in each, all lines of a user in one."""
    header, piece = b"", bytearray()
    for line in lines:
        text = json_line(line, "`lines`") + b"\n"
        if line.get("kind") == "export":
            header = text
            continue
        # What comes before the users is one: changes of items are restored together.
        is_user = line.get("kind", "user") == "user"
        if piece and is_user and len(piece) + len(text) > _AT_ONCE:
            yield header + bytes(piece)
            piece.clear()
        piece += text
    if piece:
        yield header + bytes(piece)


def _imported(body: bytes) -> int:
    return part(int, part(dict, json_of(body)).get("imported"), "imported")


_ITEMS_PER_PAGE: Final = 200


def catalogue() -> Call[CatalogueFacts]:
    """Return the names of features, distances and attributes, and the policies."""
    return Call("GET", "/v1/catalogue", reading(CatalogueFacts))


def items(search: str = "") -> Call[Page[Item]]:
    """Give the items whose title or id has a text in it; fetched page by page."""
    return paged(
        Item,
        "items",
        lambda after: asked("/v1/items", search=search, limit=_ITEMS_PER_PAGE, after=after),
    )


def item(item: str) -> Call[WholeItem]:
    """Return all that is known of an item."""
    return Call("GET", f"/v1/items/{quoted('item', item)}", reading(WholeItem))


def add_items(items: Iterable[Mapping[str, Any]]) -> Call[tuple[str, ...]]:
    """Add items, or change known ones: all of them, or none. Needs an admin key.

    Parameters
    ----------
    items
        Each with `id`, and any of `title`, `attributes`, `features` (in order, or by name) and
        `distances`. A known item keeps what is not given; a new one needs features and distances.
    """
    return Call("POST", "/v1/items", _stocked, json_body({"items": [dict(one) for one in items]}))


def change_item(
    item: str,
    *,
    title: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    features: Sequence[float] | Mapping[str, float] | None = None,
    distances: Mapping[str, Any] | None = None,
) -> Call[tuple[str, ...]]:
    """Add or change one item, as `add_items` does; a retired one comes back."""
    data = {
        "title": title,
        "attributes": None if attributes is None else dict(attributes),
        "features": None if features is None else _vector(features),
        "distances": None if distances is None else dict(distances),
    }
    return Call("PUT", f"/v1/items/{quoted('item', item)}", _stocked, json_body(data))


def retire_item(item: str) -> Call[None]:
    """Retire an item: it is in no list any more. Needs an admin key."""
    return Call("DELETE", f"/v1/items/{quoted('item', item)}", lambda _body: None)


def _stocked(body: bytes) -> tuple[str, ...]:
    return parts(str, part(dict, json_of(body)).get("items"), "items")


def _vector(features: Sequence[float] | Mapping[str, float]) -> list[float] | dict[str, float]:
    if isinstance(features, Mapping):
        return {name: float(number) for name, number in features.items()}
    return [float(number) for number in features]


def prior(policy: str) -> Call[Prior]:
    """Return what new users of a policy are believed to want. Needs an admin key."""
    return Call("GET", _prior_path(policy), reading(Prior))


def fit_prior(policy: str) -> Call[Prior]:
    """Fit what users begin with to those that there are; return it. Needs an admin key.

    With few users that is a ConflictError. With many it takes a while: give the client a
    `timeout` of minutes.
    """
    return Call("POST", _prior_path(policy), reading(Prior), repeat=Repeat.NOT_DONE)


def drop_prior(policy: str) -> Call[Prior]:
    """Go back to what the policy's line says of its prior. Needs an admin key."""
    return Call("DELETE", _prior_path(policy), reading(Prior))


def _prior_path(policy: str) -> str:
    return f"/v1/policies/{quoted('policy', policy)}/prior"


def report() -> Call[Report]:
    """Compare the policies on the users they got, with intervals. Needs an admin key."""
    return Call("GET", "/v1/report", reading(Report))


def ping() -> Call[None]:
    """Do nothing but try the address and the key."""
    return Call("GET", "/v1/ping", lambda _body: None)


def metrics() -> Call[str]:
    """Return the service's numbers as Prometheus reads them."""
    return Call("GET", "/metrics", lambda body: body.decode())


def alive() -> Call[None]:
    """Ask whether the process is alive."""
    return Call("GET", "/healthz", lambda _body: None, repeat=Repeat.NEVER)


def ready() -> Call[None]:
    """Ask whether the store can be reached."""
    return Call("GET", "/readyz", lambda _body: None, repeat=Repeat.NEVER)
