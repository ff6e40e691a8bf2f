"""Lists and feedback."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import uuid4

from variegate.client.answers import Feedback, Slate
from variegate.client.call import Call
from variegate.client.reading import reading
from variegate.client.requesting import ids, json_body, quoted
from variegate.errors import InputError

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
    show_again: bool = False,
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
    show_again
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
        "show_again": show_again,
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
