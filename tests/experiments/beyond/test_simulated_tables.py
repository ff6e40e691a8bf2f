"""The tables of the simulated experiments, from made numbers."""

import numpy as np

from experiments.beyond.simulated import Attention, Distances, Drift, PriorGain
from experiments.beyond.simulated.beginning import LEARNERS as BEGINNINGS
from experiments.beyond.simulated.caring import LEARNERS as KNOWN
from experiments.beyond.simulated.drifting import KINDS, LEARNERS
from experiments.beyond.simulated_tables import (
    attention_table,
    beginnings_table,
    caring_table,
    drift_table,
    simulated_tables,
)

RUNS, ROUNDS = 3, 20


def made_drift() -> Drift:
    """Forgetting 0.9 gets 60 of 100 clicks, forgetting nothing 50."""
    earned = np.full((RUNS, len(KINDS), len(LEARNERS), 2, ROUNDS), 0.5)
    earned[..., 0, :] = 0.6
    return Drift(np.array([0.9, 1.0]), np.ones((RUNS, len(KINDS), ROUNDS)), earned)


def made_prior() -> PriorGain:
    """The n-th learner gets n tenths of what is best."""
    earned = np.ones((RUNS, len(BEGINNINGS), ROUNDS)) * np.arange(len(BEGINNINGS))[:, None] / 10
    return PriorGain(np.ones(RUNS), earned, np.array([0.4, 0.1]))


def made_distances() -> Distances:
    """Two of three users are found out."""
    found = np.zeros((RUNS, ROUNDS, 3))
    found[..., 1] = 0.3
    earned = np.full((RUNS, len(KNOWN), ROUNDS), 0.8)
    return Distances(np.array([1.0, 1.0, 2.0]), found, np.ones(RUNS), earned)


def made_attention() -> Attention:
    """Those who know where users look are half as wrong as they could be, the others wholly."""
    errors = np.ones((RUNS, 2, 2, ROUNDS, 4)) * np.array([0.5, 1.0])[:, None, None]
    earned = np.full((RUNS, 2, 2, ROUNDS), 0.7)
    return Attention(errors, np.ones((RUNS, 4)), np.ones(RUNS), earned)


def test_what_forgetting_wins_is_told_in_per_cent_of_the_best() -> None:
    found = drift_table(made_drift())

    assert found.heads == ("learner, tastes", "forgetting 0.9")
    assert len(found.rows) == len(KINDS) * len(LEARNERS)
    assert {cells[0].text for _, cells in found.rows} == {"+10.0% (+10.0 to +10.0)"}


def test_learners_stand_in_their_order_by_where_they_begin() -> None:
    found = beginnings_table(made_prior())

    names = [name for name, _ in found.rows]
    assert names[0] == "LMDH, from zero"
    assert {"LMDP, from a guess", "LMDP, fitted to others", "LMDP, from the truth"} <= set(names)
    assert len(set(names)) == len(names) == len(BEGINNINGS)
    assert found.rows[2][1][-1].text == "0.200 (0.200 to 0.200)"


def test_the_share_of_users_found_out_is_told_beside_chance() -> None:
    found = caring_table(made_distances())

    assert "the right one for 67% of users (0% to 100%; by chance 33%)" in found.note
    assert {cells[0].text for _, cells in found.rows} == {"0.800 (0.800 to 0.800)"}


def test_errors_are_told_for_those_who_know_where_users_look_and_others() -> None:
    found = attention_table(made_attention())

    assert [cells[0].text[:5] for _, cells in found.rows] == ["0.500", "1.000"] * 2


def test_only_what_was_played_has_a_table() -> None:
    assert [found.title for found in simulated_tables({"distances": made_distances()})] == [
        "Users who care for one distance of three"
    ]
    assert list(simulated_tables({})) == []
