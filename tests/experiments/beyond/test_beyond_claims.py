"""What is asked of our learner, judged on made results whose right verdicts are known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.beyond.claims import CLAIMS, judged_beyond
from experiments.beyond.results import Chapter
from experiments.claims import Status, Verdict
from experiments.results import Results
from tests.experiments.beyond.making import (
    RECALLS,
    beyond_results,
    made_chapter,
    made_frontier,
)

each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)


def verdict(name: str, chapter: Chapter) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.name == name]
    return claim.judge(beyond_results(chapter), "lmdp")


@each_claim
def test_everything_asked_holds_on_results_made_so(claim: Any) -> None:
    found = judged_beyond(beyond_results())[claim]

    assert found.status is Status.HOLDS, found.measured


@each_claim
def test_nothing_measured_is_said_to_be_not_measured(claim: Any) -> None:
    nothing = Results(False, {}, [], {}, {}, {}, {}, {})

    assert claim.judge(nothing, "lmdp").status is Status.NOT_MEASURED


def test_f1_less_than_5_per_cent_above_does_not_hold_and_says_by_how_much() -> None:
    # F1 of recall r and diversity 0.5 is r / (r + 0.5), but for the noise of users.
    found = verdict("f1", made_chapter({"lmdp": RECALLS["lmdh"] * 1.08}))

    assert found.status is Status.FAILS
    assert "t = 30: 0.565 against 0.546 (+3.5%)" in found.measured


def test_f2_that_is_lower_in_one_round_does_not_hold() -> None:
    lower = np.where(np.arange(30) == 4, 0.9, 1.2)

    assert verdict("f2", made_chapter({"lmdp": RECALLS["lmdh"] * lower})).status is Status.FAILS


def test_a_lead_that_chance_could_make_is_not_apart() -> None:
    found = verdict("apart", made_chapter({"lmdp": RECALLS["lmdh"]}))

    assert found.status is Status.FAILS
    assert "F1 +0.0000" in found.measured


def test_a_baseline_that_is_ahead_is_named() -> None:
    ahead = np.where(np.arange(30) == 9, 0.9, 0.1)

    found = verdict("baselines", made_chapter({"mmr": ahead}))

    assert found.status is Status.FAILS
    assert "MMR in F1 at t = 10 by" in found.measured
    assert "t = 30" not in found.measured


def test_a_first_list_of_too_little_recall_does_not_hold() -> None:
    recall = RECALLS["logrank"] * np.where(np.arange(30) == 0, 0.6, 1.1)

    found = verdict("recall", made_chapter({"lmdp": recall}))

    assert found.status is Status.FAILS
    assert "t = 1: 60% of LogRank's; from t = 5 on: least 110" in found.measured


def test_recall_below_logranks_in_any_round_from_the_fifth_does_not_hold() -> None:
    recall = RECALLS["logrank"] * np.where(np.arange(30) == 17, 0.99, 1.1)

    found = verdict("recall", made_chapter({"lmdp": recall}))

    assert found.status is Status.FAILS
    assert "at t = 18" in found.measured


def test_a_setting_above_the_frontier_is_named() -> None:
    frontier = made_frontier(mmr={"trade off 1": (0.9, 0.65)})

    found = verdict("frontier", made_chapter(frontier={"ml-1m": frontier}))

    assert found.status is Status.FAILS
    assert "above it: 1 of 3 settings (1 by the paired interval); farthest MMR (trade off 1)" in (
        found.measured
    )


def test_a_setting_that_is_level_by_its_interval_holds_in_part() -> None:
    frontier = made_frontier()
    luck = 0.05 * np.sin(np.arange(40.0))[:, None]
    level = [
        replace(one, recall=one.recall + luck - luck.mean() + 0.001)
        for one in frontier["lmdp"]["floor 0"]
    ]
    frontier["mmr"] = {"trade off 1": level}

    found = verdict("frontier", made_chapter(frontier={"ml-1m": frontier}))

    assert found.status is Status.IN_PART


def test_c2ucb_with_our_prior_is_judged_by_itself() -> None:
    frontier = made_frontier(**{"c2ucb-prior": {"entropy weight 0": (0.95, 0.3)}})
    chapter = made_chapter(frontier={"ml-1m": frontier})

    assert verdict("frontier", chapter).status is Status.HOLDS
    assert verdict("frontier-prior", chapter).status is Status.FAILS


def test_a_data_set_that_holds_and_one_that_does_not_hold_in_part() -> None:
    good, bad = made_chapter().replays, made_chapter({"lmdp": RECALLS["lmdh"]}).replays

    found = verdict("f1", made_chapter(replays={**good, "anime": bad["anime"]}))

    assert found.status is Status.IN_PART
