"""Our claims, judged on made-up results whose verdicts are known."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.claims import BEYOND_CLAIMS, Claim, Status, Verdict, judge_beyond
from experiments.results import BeyondResults, Results
from tests.experiments.making import (
    RECALLS,
    beyond_results,
    made_beyond,
    made_frontier,
    made_simulated,
)

each_claim = pytest.mark.parametrize("claim", BEYOND_CLAIMS, ids=lambda claim: claim.name)


def verdict(name: str, beyond: BeyondResults) -> Verdict:
    (claim,) = [claim for claim in BEYOND_CLAIMS if claim.name == name]
    return claim.judge(beyond_results(beyond), "lmdp")


@pytest.fixture(scope="module")
def verdicts() -> dict[Claim, Verdict]:
    return judge_beyond(beyond_results())


@each_claim
def test_every_claim_holds_on_results_made_so(claim: Claim, verdicts: dict[Claim, Verdict]) -> None:
    assert verdicts[claim].status is Status.HOLDS, verdicts[claim].measured


@each_claim
def test_nothing_measured_is_not_measured(claim: Claim) -> None:
    assert claim.judge(Results(), "lmdp").status is Status.NOT_MEASURED


def test_f1_less_than_5_per_cent_above_does_not_hold_and_says_by_how_much() -> None:
    # F1 of recall r and diversity 0.5 is r / (r + 0.5), but for the noise of users.
    found = verdict("f1", made_beyond({"lmdp": RECALLS["lmdh"] * 1.08}))

    assert found.status is Status.FAILS
    assert "t = 30: 0.565 against 0.546 (+3.5%)" in found.measured


def test_f2_that_is_lower_in_one_round_does_not_hold() -> None:
    lower = np.where(np.arange(30) == 4, 0.9, 1.2)

    assert verdict("f2", made_beyond({"lmdp": RECALLS["lmdh"] * lower})).status is Status.FAILS


def test_lead_that_chance_could_make_is_not_apart() -> None:
    found = verdict("apart", made_beyond({"lmdp": RECALLS["lmdh"]}))

    assert found.status is Status.FAILS
    assert "F1 +0.0000" in found.measured


def test_baseline_that_is_ahead_is_named() -> None:
    ahead = np.where(np.arange(30) == 9, 0.9, 0.1)

    found = verdict("baselines", made_beyond({"mmr": ahead}))

    assert found.status is Status.FAILS
    assert "MMR in F1 at t = 10 by" in found.measured
    assert "t = 30" not in found.measured


def test_first_list_of_too_little_recall_does_not_hold() -> None:
    recall = RECALLS["logrank"] * np.where(np.arange(30) == 0, 0.6, 1.1)

    found = verdict("recall", made_beyond({"lmdp": recall}))

    assert found.status is Status.FAILS
    assert "t = 1: 60% of LogRank's; from t = 5 on: least 110" in found.measured


def test_recall_below_logranks_in_any_round_from_the_fifth_does_not_hold() -> None:
    recall = RECALLS["logrank"] * np.where(np.arange(30) == 17, 0.99, 1.1)

    found = verdict("recall", made_beyond({"lmdp": recall}))

    assert found.status is Status.FAILS
    assert "at t = 18" in found.measured


def test_setting_above_the_frontier_is_named() -> None:
    frontier = made_frontier(mmr={"trade off 1": (0.9, 0.65)})

    found = verdict("frontier", made_beyond(frontier={"ml-1m": frontier}))

    assert found.status is Status.FAILS
    assert "above it: 1 of 3 settings (1 by the paired interval); farthest MMR (trade off 1)" in (
        found.measured
    )


def test_setting_above_that_is_level_by_its_interval_holds_in_part() -> None:
    frontier = made_frontier()
    luck = 0.05 * np.sin(np.arange(40.0))[:, None]
    level = [
        replace(one, recall=one.recall + luck - luck.mean() + 0.001)
        for one in frontier["lmdp"]["diversity 0"]
    ]
    frontier["mmr"] = {"trade off 1": level}

    found = verdict("frontier", made_beyond(frontier={"ml-1m": frontier}))

    assert found.status is Status.IN_PART


def test_ease_is_judged_apart() -> None:
    frontier = made_frontier(ease={"λ 500, weight 0": (0.95, 0.3)})
    beyond = made_beyond(frontier={"ml-1m": frontier})

    assert verdict("frontier", beyond).status is Status.HOLDS
    found = verdict("frontier-ease", beyond)
    assert found.status is Status.FAILS
    assert (
        "above it: 1 of 1 settings (1 by the paired interval); farthest EASE with MSD (λ 500"
        in (found.measured)
    )


@pytest.mark.parametrize("claim", ["frontier", "frontier-ease"])
def test_frontiers_are_compared_at_every_moment(claim: str) -> None:
    found = verdict(claim, made_beyond(frontier={"ml-1m": made_frontier()}))

    measured = [part.where for part in found.evidence if part.status is not Status.NOT_MEASURED]
    assert measured == [f"MovieLens-1M, t = {t}" for t in (1, 5, 10, 30)]


def test_data_set_that_holds_and_one_that_does_not_hold_in_part() -> None:
    good, bad = made_beyond().replays, made_beyond({"lmdp": RECALLS["lmdh"]}).replays

    found = verdict("f1", made_beyond(replays={**good, "anime": bad["anime"]}))

    assert found.status is Status.IN_PART


SIMULATED = [claim for claim in BEYOND_CLAIMS if claim.place == "simulated users"]


@pytest.mark.parametrize("claim", SIMULATED, ids=lambda claim: claim.name)
def test_no_gain_of_simulated_users_does_not_hold(claim: Claim) -> None:
    found = verdict(claim.name, made_beyond(simulated=made_simulated(gain=-0.1)))

    assert found.status is Status.FAILS, found.measured


def test_gain_within_its_interval_holds_in_part() -> None:
    luck = np.array([-0.05, 0.0, 0.08])[:, None, None]
    made = made_simulated(gain=0.0)
    made["cold_start"] = replace(
        made["cold_start"], earned=0.5 + luck * (np.arange(6) == 3)[:, None] * np.ones(12)
    )

    found = verdict("cold-start", made_beyond(simulated=made))

    assert found.status is Status.IN_PART
    assert "over LMDH: +1.0% (" in found.measured


def test_a_wrong_statement_about_variety_does_not_hold_for_those_users() -> None:
    made = made_simulated()
    made["variety"].positive[1] = 0.99  # of the only user who does not want variety

    found = verdict("variety-statements", made_beyond(simulated=made))

    assert found.status is Status.IN_PART
    assert "users who do not: right for 0%, ever wrong for 100%" in found.measured


def test_a_diverse_second_list_with_three_films_of_a_series_holds_in_part() -> None:
    made = made_simulated()
    made["first_picks"].of_one_series[1] = 3.0

    found = verdict("second-list", made_beyond(simulated=made))

    assert found.status is Status.IN_PART
    assert "at most 3 of ten" in found.measured
