"""Lists and feedback."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from variegate.client.answers import Feedback, Slate
from variegate.client.call import Call, Repeat
from variegate.client.reading import reading
from variegate.client.requesting import ids, json_body, quoted
from variegate.errors import InputError


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
) -> Call[Slate]:
    """Give a user a list; a user need not be known before.

    It is asked for again only where the service surely did not take the request in: a list
    that was made counts as shown, also when its answer was lost on the way.

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
    return Call("POST", path, reading(Slate), json_body(wish), repeat=Repeat.UNSENT)


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


def _numbers(rewards: Mapping[str, float]) -> dict[str, float]:
    try:
        return {item: float(reward) for item, reward in rewards.items()}
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"`rewards` must be numbers by item id, got {rewards!r:.80}") from None
