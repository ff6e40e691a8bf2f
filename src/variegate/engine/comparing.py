"""Policies side by side on the users they got: the report of an A/B test."""

import math
import sys
from typing import Any, Final

from variegate.engine.experiment import Experiment
from variegate.store import Moments, PolicySums, Reader

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
        "line": experiment.lines.get(sums.policy),
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
