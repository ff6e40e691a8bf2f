"""Estimates from lists of which those of one user depend on each other."""

import numpy as np
import pytest

from variegate.errors import InputError
from variegate.evaluation.offpolicy import cascade_dr, ridge_model, rips, slate_log
from variegate.evaluation.offpolicy.logs import SlateLog

CHANCES = [[0.5]]


def log_of(rewards: list[float]) -> SlateLog:
    return slate_log([[0]] * len(rewards), [[one] for one in rewards], CHANCES * len(rewards))


def test_lists_that_are_copies_say_as_much_as_one() -> None:
    rewards = [1.0, 0.0, 0.0, 1.0, 1.0, 0.0]
    once = rips(log_of(rewards), CHANCES * 6)
    users = [str(number % 6) for number in range(30)]

    copied = rips(log_of(rewards * 5), CHANCES * 30, groups=users)

    assert copied.value == pytest.approx(once.value)
    assert copied.standard_error == pytest.approx(once.standard_error)
    # As if they were independent, the five copies would look like five times the data.
    naive = rips(log_of(rewards * 5), CHANCES * 30)
    assert naive.standard_error < 0.5 * copied.standard_error


def test_groups_of_one_list_each_change_nothing() -> None:
    log = log_of([1.0, 0.0, 0.5, 0.2])

    alone = rips(log, CHANCES * 4, groups=["a", "b", "c", "d"])

    assert alone == rips(log, CHANCES * 4)


def test_standard_error_is_the_spread_over_logs_of_users() -> None:
    rng, values, errors = np.random.default_rng(4), [], []
    for _ in range(300):
        tastes = np.repeat(rng.random(12), 8)  # twelve users with eight lists each
        log = log_of((rng.random(96) < tastes).astype(float).tolist())
        found = rips(log, CHANCES * 96, groups=[str(at // 8) for at in range(96)])
        values.append(found.value)
        errors.append(found.standard_error)

    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)


def test_bootstrap_draws_whole_groups() -> None:
    log = log_of([1.0] * 10 + [0.0] * 10)
    users = ["ann"] * 10 + ["bob"] * 10

    found = rips(log, CHANCES * 20, groups=users, interval="bootstrap", rng=0)

    # Of two users, one resample in four has ann twice, and one in four has bob twice.
    assert found.interval == (0.0, 1.0)


def test_a_users_own_lists_do_not_reach_their_model() -> None:
    features = np.array([[[1.0, number % 3]] for number in range(8)])
    users = list("aabbccdd")
    before = log_of([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5])
    after = log_of([1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.5, 0.5])

    one, other = (ridge_model(log, features, features, groups=users) for log in (before, after))

    np.testing.assert_array_equal(one.taken[:2], other.taken[:2])
    assert not np.array_equal(one.taken[2:], other.taken[2:])
    assert cascade_dr(before, CHANCES * 8, one, groups=users).standard_error > 0


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"], r"`groups` must have 2 entries, one per list, got 1"),
        (["a", "a"], r"needs at least 2 groups of lists, got 1"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rips(log_of([1.0, 0.0]), CHANCES * 2, groups=groups)
