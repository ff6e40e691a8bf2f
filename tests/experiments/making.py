"""A plan that takes seconds, and made-up results whose verdicts are known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.methods import DEFAULT_SETTING, METHODS
from experiments.plan import Plan
from experiments.results import BeyondResults, Regret, Results, SeveralDistances
from experiments.simulated.cold_start import ColdStart
from experiments.simulated.drift import Drift
from experiments.simulated.examination import Examination
from experiments.simulated.first_picks import FirstPicks
from experiments.simulated.multi_distance import MultiDistance
from experiments.simulated.variety import Variety
from tests.evaluation.making import ROUNDS, made_scores
from variegate.arrays import FloatArray
from variegate.data.dataset import Counts
from variegate.evaluation.metrics import Scores

#: All that a reproduction does, in seconds
TINY_PLAN = Plan(
    quick=True,
    datasets=("ml-100k",),
    splits=2,
    rounds=3,
    k=3,
    ridges=(1.0, 50.0),
    explorations=(0.0, 1.0),
    lengths=(2, 3),
    sensitivity_splits=1,
    simulated_rounds=4,
    simulated_runs=2,
    readings=("none", "fixed"),
    ratio_users=2,
    frontier_splits=1,
    experiment_size=(2, 4),
)

TABLE_1 = {
    "ml-100k": Counts(942, 1447, 55_375, 18),
    "ml-1m": Counts(6038, 3533, 575_281, 18),
    "anime": Counts(4704, 6482, 345_717, 44),
}


def made_replays(
    recalls: Mapping[str, Any], diversities: Mapping[str, Any] | None = None
) -> dict[str, list[Scores]]:
    """Return two splits of scores for each policy; diversity is 0.5 where not given."""
    spread = diversities or {}
    return {
        policy: [
            made_scores(recall, spread.get(policy, 0.5), label=_label(policy), seed=split)
            for split in range(2)
        ]
        for policy, recall in recalls.items()
    }


#: Recall by round, as the paper describes it: LMDH ahead of all, DC2B good and then poor.
_T = np.arange(1, ROUNDS + 1) / ROUNDS
AS_THE_PAPER_SAYS: Mapping[str, FloatArray] = {
    "lmdh": 0.1 + 0.8 * _T,
    "c2ucb": 0.02 + 0.75 * _T,
    "logrank": 0.03 + 0.5 * _T,
    "mmr": 0.03 + 0.5 * _T,
    "epsilon-greedy": 0.03 + 0.5 * _T,
    "dc2b": 0.09 + 0.2 * _T,
    "lmdh-greedy": 0.05 + 0.7 * _T,
    "lmdh:normaliser=fixed": 0.1 + 0.8 * _T,
    "lmdh:normaliser=none": 0.01 + 0.1 * _T,
    "dc2b:intercept=true": 0.09 + 0.3 * _T,
}
SPREAD: Mapping[str, float] = {
    "lmdh": 0.6,
    "c2ucb": 0.4,
    "logrank": 0.1,
    "mmr": 0.2,
    "epsilon-greedy": 0.7,
    "dc2b": 0.3,
    "lmdh:normaliser=fixed": 0.1,
    "lmdh:normaliser=none": 0.6,
}


def made_regret(slopes: Mapping[str, FloatArray], runs: int = 6) -> Regret:
    """Return regret a round near `slopes` in each of the runs."""
    rng = np.random.default_rng(5)
    rounds = len(next(iter(slopes.values())))
    each = [slope + 0.001 * rng.random((runs, rounds)) for slope in slopes.values()]
    bound = 100.0 * np.sqrt(np.arange(1, rounds + 1))
    return Regret(tuple(slopes), tuple(map(_label, slopes)), np.array(each), bound)


def made_results(**changes: Any) -> Results:
    """Return results that agree with the paper, but for `changes`."""
    falling, flat = np.linspace(0.2, 0.01, 50), np.full(50, 0.3)
    ratios = np.tile([0.9995, 0.9992, 0.9989, 0.9971], (20, 1))
    ratios += 0.0001 * np.random.default_rng(2).standard_normal(ratios.shape)
    replays = made_replays(AS_THE_PAPER_SAYS, SPREAD)
    settings = dict.fromkeys((0.1, 1.0, 50.0), replays["lmdh"])
    slopes = {"lmdh": falling, "lmdh-greedy": flat, "c2ucb": flat, "dc2b": flat, "lsb": flat}
    return replace(
        Results(
            quick=False,
            facts={"plan": {"splits": 2, "users": {}}, "seconds": {"replay, ml-100k": 75.2}},
            table1=TABLE_1,
            replays=dict.fromkeys(("ml-100k", "ml-1m", "anime"), replays),
            sensitivity={"ridge": settings, "exploration": settings},
            lengths={k: {n: replays[n] for n in ("lmdh", "c2ucb", "dc2b")} for k in (5, 10, 15)},
            regrets={reading: made_regret(slopes) for reading in ("none", "growing")},
            ratios={"none": {"greedy": ratios, "local": np.minimum(ratios + 0.0003, 1.0)}},
        ),
        **changes,
    )


def _label(policy: str) -> str:
    return f"DC2B (reconstructed: {policy})" if policy.startswith("dc2b") else policy


#: LMDP ahead of everything from the first list on; every other method the same.
RECALLS: Mapping[str, Any] = {
    method.key: 0.2 + 0.7 * _T if method.key == "lmdp" else 0.1 + 0.5 * _T for method in METHODS
}
#: Recall and diversity of each setting of each method.
POINTS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "lmdp": {"diversity 0": (0.8, 0.4), DEFAULT_SETTING: (0.7, 0.7), "diversity 2": (0.5, 0.9)},
    "ease": {"λ 500, weight 0": (0.7, 0.3)},
    "lmdh": {"no floor": (0.6, 0.6), "floor 2": (0.3, 0.85)},
    "mmr": {"trade off 1": (0.4, 0.3)},
}


def made_frontier(**changes: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """Return two splits of scores for each setting."""
    return {
        family: {name: _scores(*point) for name, point in settings.items()}
        for family, settings in {**POINTS, **changes}.items()
    }


def made_simulated(gain: float = 0.1) -> dict[str, Any]:
    """Return simulated experiments of three users, in which the right learner gains clicks."""
    users, rounds, best = 3, 12, np.ones(3)
    noise = 0.001 * np.random.default_rng(3).standard_normal((users, 1, rounds))
    # One is the forgetting that is judged.
    forgets = np.array([0.5, 0.5, 0.5 + gain, 0.5, 0.5])[:, None] + noise[:, :, None, None]
    learners = np.array([0.5 + gain, 0.5, 0.5, 0.5])[:, None] + noise
    starts = np.array([0.5, 0.5, 0.5, 0.5 + gain, 0.6, 0.5])[:, None] + noise
    examined = np.array([0.5 + gain, 0.5])[:, None] + noise[:, None]
    found = np.tile([0.3 * (gain > 0.0), 0.1, 0.2], (users, rounds, 1))
    errors = np.tile(np.array([0.5 - gain, 0.5])[:, None, None], (users, 2, 1, rounds, 9))
    return {
        "drift": Drift(
            np.ones((users, 3, rounds)),
            np.broadcast_to(forgets, (users, 3, 2, 5, rounds)),
        ),
        "examination": Examination(
            errors, np.ones((users, 9)), best, np.broadcast_to(examined, (users, 2, 2, rounds))
        ),
        "multi_distance": MultiDistance(np.zeros(users), found, best, learners),
        "cold_start": ColdStart(best, starts),
        "variety": _variety(0.97 if gain > 0.0 else 0.5, users, rounds),
        "first_picks": FirstPicks(
            np.tile([0.8, 0.7 + gain], (users, 1)),
            np.full(users, 2.0 if gain > 0.0 else 3.0),
            np.array([0.5 + gain, 0.5, 0.5])[:, None] + noise,
        ),
    }


def _variety(probability: float, users: int, rounds: int) -> Variety:
    """Return users of whom the right statement has this probability after every list."""
    wants = (np.arange(users) % 2 == 0)[:, None] * np.ones(rounds)
    positive = np.where(wants, probability, 0.5)
    return Variety(wants[:, 0], positive, np.where(wants, 0.5, probability))


def made_beyond(recalls: Mapping[str, Any] | None = None, **changes: Any) -> BeyondResults:
    """Return a chapter on all data sets in which everything that is asked holds."""
    replays = made_replays({**RECALLS, **(recalls or {})})
    parts: dict[str, Any] = {
        "replays": dict.fromkeys(("ml-100k", "ml-1m", "anime"), replays),
        "frontier": dict.fromkeys(("ml-100k", "ml-1m", "anime"), made_frontier()),
        "distances": _distances(),
        "simulated": made_simulated(),
    }
    return BeyondResults(**{**parts, **changes})


def beyond_results(
    beyond: BeyondResults | None = None, *, paper: bool = False, **changes: Any
) -> Results:
    """Return results of the chapter, alone or beside the paper's."""
    nothing: dict[str, Any] = {
        "replays": {},
        "sensitivity": {},
        "lengths": {},
        "regrets": {},
        "ratios": {},
    }
    found = made_beyond() if beyond is None else beyond
    return made_results(**({} if paper else nothing), beyond=found, **changes)


def _scores(recall: float, diversity: float) -> list[Scores]:
    return made_replays({"one": recall}, {"one": diversity})["one"]


def _distances() -> SeveralDistances:
    found = {}
    for known in ("cosine", "genres", "cosine and genres"):
        found[known] = [
            replace(
                one, diversity=np.concatenate([one.diversity] * 2), distances=("cosine", "genres")
            )
            for one in _scores(0.5, 0.6)
        ]
    betas = {
        "cosine": np.full((4, 1), 0.1),
        "genres": np.full((4, 1), 0.2),
        "cosine and genres": np.tile([0.3, -0.4], (4, 1)),
    }
    return SeveralDistances(("cosine", "genres"), found, betas, (0.35, 0.2))
