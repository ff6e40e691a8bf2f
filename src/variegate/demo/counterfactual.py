"""What another policy, taught by the same feedback, would have shown in place of a slate."""

from dataclasses import replace
from functools import partial
from typing import Any, Final
from zlib import crc32

import numpy as np

from variegate.arrays import MaskArray
from variegate.demo.policies import make_policy, policy_label
from variegate.engine.catalogue import CatalogueSnapshot, plain_attributes
from variegate.engine.codecs import INTERACTION
from variegate.engine.experiment import Experiment
from variegate.engine.feedback import WITHDRAWN, rows_in_catalogue
from variegate.engine.recommend import pairwise_diversity
from variegate.engine.replay import iter_events, lessons
from variegate.engine.selection import allowed_items, without_seen
from variegate.engine.terms import Terms, terms_of
from variegate.errors import ConflictError, NotFoundError
from variegate.policies import Policy
from variegate.store import EventRow, Reader, SlateRow

_PAGE: Final = 100


def counterfactual_view(
    reader: Reader, snapshot: CatalogueSnapshot, experiment: Experiment, asked: tuple[str, str, str]
) -> dict[str, Any]:
    """Return the slate of a policy in place of one that was given.

    Parameters
    ----------
    asked
        The user, the id of their slate, and the policy's name.
    """
    user, slate, name = asked
    row = reader.slates([slate]).get(slate)
    if row is None or row.user_id != user:
        raise NotFoundError(f"no slate {slate!r} of user {user!r}")
    terms = terms_of(row)
    if terms.offered:
        raise ConflictError(f"slate {slate!r} was made with scores of its request: not stored")
    policy = make_policy(name, snapshot.catalogue, experiment)
    _teach(policy, reader, row)
    free = _candidates(reader, snapshot, terms, row)
    k = min(row.k, int(np.count_nonzero(free)))
    constraints = terms.constraints and replace(terms.constraints, relax=True)
    rng = crc32(row.id.encode())
    dial = terms.dial if policy.takes_dial else None
    other = policy.recommend(k, free, rng=rng, dial=dial, constraints=constraints)
    titles = snapshot.catalogue.titles
    return {
        "policy": name,
        "label": policy_label(name, policy),
        "dial": None if terms.dial is None else "same" if policy.takes_dial else "none",
        "items": [
            {
                "id": item,
                "title": titles[place],
                "score": score,
                "attributes": plain_attributes(snapshot.catalogue, place),
            }
            for item, place, score in zip(
                other.ids, other.items.tolist(), other.scores.tolist(), strict=True
            )
        ],
        "diversity": pairwise_diversity(policy, other),
    }


def _teach(policy: Policy, reader: Reader, before: SlateRow) -> None:
    """Teach a policy all feedback from before a slate was given."""
    for row, rewards in lessons(reader, before.user_id, until=before.created):
        if isinstance(row, EventRow):
            alone = policy.catalogue.find_rows(row.body["rewards"])
            if (alone >= 0).all():
                policy.learn_relevance(alone, [*rewards.values()])
            continue
        items = policy.catalogue.find_rows(row.items)
        if row.id != before.id and (items >= 0).all():
            earned = [rewards.get(place, 0.0) for place in range(row.k)]
            # With this policy's own features: it cannot learn from those of another.
            slate = policy.as_slate(items, np.zeros(row.k))
            policy.update(slate, earned, seen=sorted(rewards))


def _candidates(
    reader: Reader, snapshot: CatalogueSnapshot, terms: Terms, before: SlateRow
) -> MaskArray:
    """Return the items that a slate could be chosen from when it was given, (L,)."""
    rows = partial(rows_in_catalogue, snapshot.catalogue)
    candidates = None if terms.candidates is None else rows(terms.candidates)
    allowed = allowed_items(snapshot, candidates, rows(terms.exclude), terms.where)
    if terms.allow_repeats:
        return allowed
    used = rows(_used_before(reader, terms, before))
    shown = rows(_shown_before(reader, terms, before))[::-1]
    hidden = np.concatenate([shown[~np.isin(shown, used)], used])
    free = without_seen(allowed, hidden, before.k)[0]
    if terms.constraints is not None:
        pinned = rows(list(terms.constraints.pins.values()))
        free[pinned] = allowed[pinned]
    return free


def _used_before(reader: Reader, terms: Terms, before: SlateRow) -> list[str]:
    """Return the items that the user used outside lists before a slate, the oldest first."""
    since, used = before.created - terms.memory_seconds, dict[str, None]()
    for event in iter_events(reader, before.user_id):
        if event.kind == INTERACTION and since < event.time <= before.created:
            for item in () if event.body["allow_repeats"] else event.body["rewards"]:
                used.pop(item, None)
                used[item] = None
    return list(used)[-terms.memory :] if terms.memory else []


def _shown_before(reader: Reader, terms: Terms, before: SlateRow) -> list[str]:
    """Return the items of the slates before one, the latest first, within its memory."""
    seen: dict[str, None] = {}
    last = before.id
    since = before.created - terms.memory_seconds
    while page := reader.history(before.user_id, _PAGE, last):
        for row in page:
            if row.created <= since or len(seen) >= terms.memory:
                return list(seen)
            if WITHDRAWN not in row.reports:
                seen.update(dict.fromkeys(row.items))
        last = page[-1].id
    return list(seen)
