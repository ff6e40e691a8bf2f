"""What is known of a user, in words and numbers."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.experiment import Experiment
from variegate.engine.replay import restore_user
from variegate.errors import NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy
from variegate.policies.beliefs import (
    Belief,
    likes_in_words,
    taste_of,
    variety_in_words,
    variety_of,
)
from variegate.store import Moments, PolicySums, Reader, SlateRow, UserRow


def find_user(reader: Reader, user: str) -> UserRow:
    """Return the user, or raise NotFoundError."""
    found = reader.users([user]).get(user)
    if found is None:
        raise NotFoundError(f"no user {user!r}: nobody has asked for a list for them")
    return found


def user_view(
    reader: Reader, user: str, live: LiveCatalogue, experiment: Experiment
) -> dict[str, Any]:
    """Return what was learnt of a user, under the policy that the next list will be by."""
    snapshot = live.as_of(reader)
    row = find_user(reader, user)
    row, policy = restore_user(reader, row, snapshot.catalogue, experiment.as_of(snapshot))
    return {
        "user": row.id,
        "policy": row.policy,
        "slates": row.slates,
        "created": row.created,
        "changed": row.changed,
        "learnt": learnt_view(policy),
    }


def learnt_view(policy: Policy) -> dict[str, Any]:
    """Return a policy's beliefs: words, and every weight with its 95% interval."""
    taste, wanted = taste_of(policy), policy.preferences
    varieties = variety_of(policy)
    low, high = wanted.relevance_interval
    return {
        "words": {"likes": likes_in_words(taste), "variety": variety_in_words(varieties)},
        "relevance": [
            {"name": name, "weight": weight, "low": least, "high": most}
            for name, weight, least, most in zip(
                policy.catalogue.feature_names,
                wanted.relevance.tolist(),
                low.tolist(),
                high.tolist(),
                strict=True,
            )
        ],
        "diversity": [_belief(belief) for belief in varieties],
        "floor": policy.diversity_floor,
    }


def slate_view(row: SlateRow, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return a list that was given, and what came of it."""
    return {
        "slate_id": row.id,
        "policy": row.policy,
        "created": row.created,
        "deadline": row.deadline,
        "closed": row.closed,
        "answered": row.answered,
        "earned": row.earned,
        "diversity": row.diversity,
        "items": [
            {"id": item, "title": titles.get(item, item), "reward": reward, "learnt": taught}
            for item, reward, taught in zip(row.items, row.rewards, row.taught, strict=True)
        ],
    }


def titles_of(catalogue: Catalogue, rows: Sequence[SlateRow]) -> dict[str, str]:
    """Return the title of each item in these lists that is still here."""
    items = sorted({item for row in rows for item in row.items})
    places = zip(items, catalogue.rows_or_none(items).tolist(), strict=True)
    return {item: catalogue.titles[at] for item, at in places if at >= 0}


def _belief(belief: Belief) -> dict[str, Any]:
    return {
        "name": belief.name,
        "weight": belief.weight,
        "low": belief.low,
        "high": belief.high,
    }


#: Half the width of a 95% interval, in standard errors.
_HALF: Final = 1.959964


def comparison(reader: Reader, experiment: Experiment) -> dict[str, Any]:
    """Return rewards and diversity by policy, with intervals over users, and the differences.

    A user counts once, however many lists they got: lists of one user are not independent.
    """
    found = {sums.policy: sums for sums in reader.policy_sums()}
    names = [*experiment.names, *sorted(found.keys() - set(experiment.names))]
    nobody = Moments(0, 0, 0)
    sums = [found.get(name, PolicySums(name, 0, 0, nobody, {})) for name in names]
    return {
        "policies": [_summary(one, experiment) for one in sums],
        "differences": [
            {
                "policy": one.policy,
                "against": names[0],
                "reward": _difference(one.reward, sums[0].reward),
            }
            for one in sums[1:]
        ],
    }


def _summary(sums: PolicySums, experiment: Experiment) -> dict[str, Any]:
    return {
        "policy": sums.policy,
        "line": experiment.specs.get(sums.policy),
        "users": sums.users,
        "answered_slates": sums.answered,
        "reward": _mean(sums.reward),
        "diversity": {name: _mean(moments) for name, moments in sorted(sums.diversity.items())},
    }


def _mean(moments: Moments) -> dict[str, float | None]:
    if not moments.users:
        return {"mean": None, "low": None, "high": None}
    if moments.users == 1:
        return {"mean": moments.mean, "low": None, "high": None}
    return _interval(moments.mean, moments.error)


def _difference(ours: Moments, theirs: Moments) -> dict[str, float | None]:
    if min(ours.users, theirs.users) < 2:
        return {"mean": None, "low": None, "high": None}
    return _interval(ours.mean - theirs.mean, math.hypot(ours.error, theirs.error))


def _interval(mean: float, error: float) -> dict[str, float | None]:
    half = _HALF * error
    return {"mean": _finite(mean), "low": _finite(mean - half), "high": _finite(mean + half)}


def _finite(number: float) -> float:
    """Return the number that JSON can hold which is next to one."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)
