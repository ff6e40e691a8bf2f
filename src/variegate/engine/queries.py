"""Queries: a user, their history, items, and the A/B report. They only read."""

import math
import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from variegate.engine.catalogue import CatalogueSnapshot, item_values, plain_attributes
from variegate.engine.experiment import Experiment
from variegate.engine.replay import restore_user
from variegate.errors import NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy
from variegate.policies.beliefs import (
    describe_diversity,
    describe_taste,
    learnt_diversity,
    learnt_taste,
    learnt_total_diversity,
)
from variegate.policies.ridge_policy import NORMAL_95
from variegate.store import Moments, PolicySums, Reader, SlateRow, UserRow

Answer = dict[str, Any]


def as_moment(seconds: float) -> datetime:
    """Return a time of the store, in seconds since 1970, as JSON has it: RFC 3339, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def user_view(
    reader: Reader, user: str, snapshot: CatalogueSnapshot, experiment: Experiment
) -> Answer:
    """Return what was learnt of a user, under the policy of the next slate."""
    row = _find_user(reader, user)
    row, policy = restore_user(reader, row, snapshot.catalogue, experiment.as_of(snapshot))
    return {
        "user": row.id,
        "policy": row.policy,
        "slates": row.slates,
        "created": as_moment(row.created),
        "changed": as_moment(row.changed),
        "learnt": _learnt_view(policy),
    }


def history_view(
    reader: Reader, user: str, snapshot: CatalogueSnapshot, *, limit: int, before: str | None
) -> Answer:
    """Return a user's latest slates before one, the newest first."""
    total = _find_user(reader, user).slates
    rows = reader.history(user, limit + 1, before)
    has_more, rows = len(rows) > limit, rows[:limit]
    titles = _titles(snapshot.catalogue, rows)
    return {
        "user": user,
        "slates": [_slate_view(row, titles) for row in rows],
        "total": total,
        "next": rows[-1].id if has_more else None,
    }


def find_items(
    snapshot: CatalogueSnapshot,
    search: str,
    *,
    limit: int,
    after: int,
    where: Mapping[str, Any] | None = None,
) -> Answer:
    """Return items that meet a condition and contain a text in title or id, from a row on."""
    catalogue, text = snapshot.catalogue, search.casefold()
    rows: Sequence[int] = range(len(catalogue))
    if where is not None:
        rows = np.flatnonzero(catalogue.where(where)).tolist()
    if text:
        titles, ids = catalogue.titles, catalogue.ids
        rows = [
            row for row in rows if text in titles[row].casefold() or text in ids[row].casefold()
        ]
    first = bisect_left(rows, after)
    page, following = rows[first : first + limit], rows[first + limit : first + limit + 1]
    return {
        "items": [_item_summary(snapshot, row) for row in page],
        "total": len(rows),
        "next": following[0] if following else None,
    }


def item_view(snapshot: CatalogueSnapshot, item: str) -> Answer:
    """Return an item with all its data."""
    row = snapshot.row_of(item)
    if row is None:
        raise NotFoundError(f"no item {item!r}")
    return {**_item_summary(snapshot, row), **item_values(snapshot.catalogue, row)}


def catalogue_view(snapshot: CatalogueSnapshot) -> Answer:
    """Return the number of items, and the names of what describes them."""
    catalogue = snapshot.catalogue
    return {
        "items": int(snapshot.active.sum()),
        "features": list(catalogue.feature_names),
        "distances": [h.name for h in catalogue.distances],
        "largest_distances": {h.name: h.largest for h in catalogue.distances},
        "attributes": list(catalogue.attributes),
    }


def policy_report(reader: Reader, experiment: Experiment) -> Answer:
    """Return rewards and diversity by policy, with intervals over users, and the differences.

    A user counts once, for any number of slates: slates of one user are not independent.
    """
    found = {sums.policy: sums for sums in reader.policy_sums()}
    names = [*experiment.names, *sorted(found.keys() - set(experiment.names))]
    nobody = Moments(0, 0, 0)
    sums = [found.get(name, PolicySums(name, 0, 0, nobody, {})) for name in names]
    return {
        "policies": [_policy_summary(one, experiment) for one in sums],
        "differences": [
            {
                "policy": one.policy,
                "against": names[0],
                "reward": _difference(one.reward, sums[0].reward),
            }
            for one in sums[1:]
        ],
    }


def _find_user(reader: Reader, user: str) -> UserRow:
    found = reader.users([user]).get(user)
    if found is None:
        raise NotFoundError(f"no user {user!r}: nobody has asked for a list for them")
    return found


def _learnt_view(policy: Policy) -> Answer:
    """Return what a policy has learnt: sentences, and every weight with its 95% interval."""
    preferences, catalogue = policy.preferences, policy.catalogue
    total, diversity = learnt_total_diversity(policy), learnt_diversity(policy)
    low, high = preferences.relevance_interval.tolist()
    relevance = zip(
        catalogue.feature_names,
        catalogue.feature_labels,
        preferences.relevance.tolist(),
        low,
        high,
        strict=True,
    )
    return {
        "words": {
            "likes": describe_taste(learnt_taste(policy)),
            "variety": describe_diversity(total, diversity),
        },
        "relevance": [_weight_view(*row) for row in relevance],
        "total_diversity": {
            "weight": total.weight,
            "low": total.low,
            "high": total.high,
            "probability_positive": total.positive,
            "probability_below_prior": total.below_prior,
        },
        "diversity": [_weight_view(b.name, b.name, b.weight, b.low, b.high) for b in diversity],
        "floor": policy.diversity_floor,
    }


def _weight_view(name: str, label: str, weight: float, low: float, high: float) -> Answer:
    return {"name": name, "label": label, "weight": weight, "low": low, "high": high}


def _slate_view(row: SlateRow, titles: Mapping[str, str]) -> Answer:
    return {
        "slate_id": row.id,
        "policy": row.policy,
        "created": as_moment(row.created),
        "deadline": None if row.deadline is None else as_moment(row.deadline),
        "closed": row.closed,
        "answered": row.answered,
        "earned": row.earned,
        "diversity": row.diversity,
        "items": [
            {"id": item, "title": titles.get(item, item), "reward": reward, "learnt": taught}
            for item, reward, taught in zip(row.items, row.rewards, row.taught, strict=True)
        ],
    }


def _titles(catalogue: Catalogue, rows: Sequence[SlateRow]) -> dict[str, str]:
    """Return the title of each item of these slates that the catalogue still has."""
    items = sorted({item for row in rows for item in row.items})
    places = zip(items, catalogue.find_rows(items).tolist(), strict=True)
    return {item: catalogue.titles[at] for item, at in places if at >= 0}


def _item_summary(snapshot: CatalogueSnapshot, row: int) -> Answer:
    return {
        "id": snapshot.catalogue.ids[row],
        "title": snapshot.catalogue.titles[row],
        "attributes": plain_attributes(snapshot.catalogue, row),
        "retired": not bool(snapshot.active[row]),
    }


def _policy_summary(sums: PolicySums, experiment: Experiment) -> Answer:
    return {
        "policy": sums.policy,
        "spec": experiment.specs.get(sums.policy),
        "users": sums.users,
        "answered_slates": sums.answered,
        "reward": _reward(sums.reward),
        "diversity": {name: _mean(moments) for name, moments in sorted(sums.diversity.items())},
    }


def _mean(moments: Moments) -> dict[str, float | None]:
    if not moments.users:
        return {"mean": None, "low": None, "high": None}
    if moments.users == 1:
        return {"mean": moments.mean, "low": None, "high": None}
    return _interval(moments.mean, moments.error)


def _reward(moments: Moments) -> dict[str, float | None]:
    low, high = (None, None) if moments.users < 2 else _score_interval(moments)
    return {"mean": moments.mean if moments.users else None, "low": low, "high": high}


def _difference(ours: Moments, theirs: Moments) -> dict[str, float | None]:
    """Return the difference of two rewards with Newcombe's interval, which is within -1 and 1."""
    if min(ours.users, theirs.users) < 2:
        return {"mean": None, "low": None, "high": None}
    low, high = _score_interval(ours)
    other_low, other_high = _score_interval(theirs)
    mean = ours.mean - theirs.mean
    return {
        "mean": mean,
        "low": mean - math.hypot(ours.mean - low, other_high - theirs.mean),
        "high": mean + math.hypot(high - ours.mean, theirs.mean - other_low),
    }


def _score_interval(moments: Moments) -> tuple[float, float]:
    """Return Wilson's interval of a mean of rewards from 0 to 1, which is within 0 and 1.

    Wilson's is for n draws of 0 or 1. The users' means vary less than such draws: n is the number
    of draws with the standard error of these means. Where all are 0, or all are 1, it is the
    number of users.
    """
    mean, error = min(max(moments.mean, 0.0), 1.0), moments.error
    variance = mean * (1.0 - mean)
    if variance and not error:
        return mean, mean
    n = variance / error**2 if variance else float(moments.users)
    z = NORMAL_95**2 / n
    middle = (mean + z / 2.0) / (1.0 + z)
    half = math.sqrt(z * (variance + z / 4.0)) / (1.0 + z)
    # Rounding can miss by an ulp.
    return max(min(middle - half, mean), 0.0), min(max(middle + half, mean), 1.0)


def _interval(mean: float, error: float) -> dict[str, float | None]:
    half = NORMAL_95 * error
    return {"mean": _finite(mean), "low": _finite(mean - half), "high": _finite(mean + half)}


def _finite(number: float) -> float:
    """Return the nearest number that JSON can hold."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)
