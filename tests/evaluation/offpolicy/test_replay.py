"""Unbiased replay, on logs of uniformly random choices."""

from collections.abc import Callable

import numpy as np
import pytest

from variegate import LMDH, Catalogue, Policy, Utility
from variegate.errors import InputError
from variegate.evaluation.offpolicy import (
    Event,
    SlateLog,
    slate_log,
    unbiased_replay,
    uniform_events,
)
from variegate.evaluation.simulation import SimulatedUser
from variegate.policies import Popular, Uniform

ITEMS = 5
CATALOGUE = Catalogue(range(ITEMS), np.diag([0.1, 0.3, 0.5, 0.25, 0.8]) + 0.05, "cosine")
#: Clicks on item 4 most often, and more on what differs from the items above
USER = SimulatedUser(Utility(CATALOGUE, relevance=np.ones(ITEMS) * 0.9, diversity=[0.1]))


def uniform_log(n: int, k: int, seed: int) -> SlateLog:
    """Return `n` lists of `k` drawn uniformly, and what the user clicked."""
    rng = np.random.default_rng(seed)
    lists = np.stack([rng.permutation(ITEMS)[:k] for _ in range(n)])
    rewards = [USER.react(items, rng.random(k)) for items in lists]
    chances = np.tile(1.0 / (ITEMS - np.arange(k)), (n, 1))
    return slate_log(lists, rewards, chances)


def replayed_mean(make: Callable[[], Policy], rounds: int, seed: int, *, k: int, n: int) -> float:
    events = uniform_events(uniform_log(n, k, seed), range(ITEMS))
    found = unbiased_replay(make(), events, rounds=rounds, rng=seed)
    assert found.matches == rounds
    return found.estimate().value


def online_mean(make: Callable[[], Policy], rounds: int, seed: int, *, k: int) -> float:
    policy, rng = make(), np.random.default_rng([seed, 99])
    earned = []
    for _ in range(rounds):
        slate = policy.recommend(k, rng=rng)
        rewards = USER.react(slate.items, rng.random(k))
        policy.update(slate, rewards)
        earned.append(rewards.sum())
    return float(np.mean(earned))


def learner() -> Policy:
    return LMDH(CATALOGUE, ridge=1.0, exploration=0.5)


def fixed() -> Policy:
    return Popular(CATALOGUE, popularity=[3, 1, 2, 0, 4])


def chance() -> Policy:
    return Uniform(CATALOGUE)


@pytest.mark.parametrize("make", [learner, fixed, chance])
def test_replay_of_single_items_agrees_with_playing_live(make: Callable[[], Policy]) -> None:
    replayed = [replayed_mean(make, 30, seed, k=1, n=280) for seed in range(20)]
    online = [online_mean(make, 30, seed, k=1) for seed in range(20)]

    error = np.sqrt((np.var(replayed, ddof=1) + np.var(online, ddof=1)) / 20)

    assert abs(np.mean(replayed) - np.mean(online)) < 4.0 * error


def test_replay_of_lists_agrees_with_playing_live() -> None:
    replayed = [replayed_mean(learner, 10, seed, k=2, n=450) for seed in range(20)]
    online = [online_mean(learner, 10, seed, k=2) for seed in range(20)]

    error = np.sqrt((np.var(replayed, ddof=1) + np.var(online, ddof=1)) / 20)

    assert abs(np.mean(replayed) - np.mean(online)) < 4.0 * error


def test_replay_of_a_fixed_policy_finds_its_true_value() -> None:
    events = uniform_events(uniform_log(2_000, 1, 0), range(ITEMS))

    found = unbiased_replay(fixed(), events).estimate()

    truth = USER.utility.value([4])
    assert abs(found.value - truth) < 4.0 * found.standard_error
    assert found.interval[0] < found.value < found.interval[1]


def test_first_positions_of_lists_are_single_items() -> None:
    log = uniform_log(2_000, 3, 1)

    found = unbiased_replay(fixed(), uniform_events(log, range(ITEMS), positions=1))

    first = log.items[:, 0] == 4
    assert found.events == 2_000
    assert found.matches == first.sum()
    np.testing.assert_array_equal(found.rewards[:, 0], log.rewards[first, 0])


def test_about_one_event_in_as_many_as_there_are_items_is_kept() -> None:
    found = unbiased_replay(learner(), uniform_events(uniform_log(2_000, 1, 2), range(ITEMS)))

    # Four standard errors of a share of 2,000.
    assert found.matches / found.events == pytest.approx(1 / ITEMS, abs=4 * np.sqrt(0.16 / 2_000))


def test_other_events_teach_nothing() -> None:
    policy, missed = learner(), learner()
    choice = policy.recommend(1, rng=0).items
    hit = Event(np.arange(ITEMS), choice, np.array([1.0]))
    miss = Event(np.arange(ITEMS), (choice + 1) % ITEMS, np.array([1.0]))

    unbiased_replay(policy, [hit])
    unbiased_replay(missed, [miss, miss, hit], rounds=1)

    ours, theirs = policy.state().arrays, missed.state().arrays
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_what_was_not_seen_teaches_nothing() -> None:
    policy = learner()
    shown = policy.recommend(1).items
    before = policy.state().arrays

    unbiased_replay(policy, [Event(np.arange(ITEMS), shown, np.zeros(1), np.array([False]))])

    assert all(np.array_equal(before[name], policy.state().arrays[name]) for name in before)


def test_replay_stops_after_the_rounds_asked_for() -> None:
    found = unbiased_replay(fixed(), uniform_events(uniform_log(500, 1, 3), range(ITEMS)), rounds=7)

    assert found.matches == 7
    assert found.events < 500


def test_choices_that_were_not_uniform_are_refused() -> None:
    log = slate_log([[0], [1]], [[0], [1]], [[0.2], [0.3]])

    with pytest.raises(InputError, match=r"uniform choices, 1 of 5 .* propensity 0.3 in list 1"):
        uniform_events(log, range(ITEMS))


def test_no_match_is_stated() -> None:
    events = [Event(np.arange(ITEMS), np.array([0]), np.array([1.0]))] * 3

    with pytest.raises(InputError, match="must include a choice of the policy, got none in 3"):
        unbiased_replay(fixed(), events)


def test_what_was_shown_must_have_been_a_candidate() -> None:
    event = Event(np.array([1, 2]), np.array([0]), np.array([1.0]))

    with pytest.raises(InputError, match=r"among the candidates, got \[0\] in event 1"):
        unbiased_replay(fixed(), [event])


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([0.0, 1.0], "`candidates` must be a list of row numbers or a mask, got float64"),
        ([0], "`candidates` must be at least 2, got 1"),
    ],
)
def test_candidates_that_cannot_be_are_refused(candidates: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        uniform_events(uniform_log(3, 2, 0), candidates)


def test_candidates_may_be_a_mask() -> None:
    log = uniform_log(3, 2, 0)

    by_mask, by_rows = uniform_events(log, [True] * ITEMS), uniform_events(log, range(ITEMS))

    np.testing.assert_array_equal(by_mask[0].candidates, by_rows[0].candidates)
