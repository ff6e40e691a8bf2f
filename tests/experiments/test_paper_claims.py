"""The paper's claims, judged on made-up results whose verdicts are known."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.claims import CLAIMS, Claim, Evidence, Judgement, Status, Verdict, judge
from experiments.claims.comparison import compare, round_ranges
from experiments.intervals import student_interval
from experiments.results import Results
from tests.evaluation.making import ROUNDS
from tests.experiments.making import (
    AS_THE_PAPER_SAYS,
    SPREAD,
    TABLE_1,
    made_regret,
    made_replays,
    made_results,
)
from variegate.arrays import FloatArray

ALL = ("ml-100k", "ml-1m", "anime")


def verdict(results: Results, name: str) -> Verdict:
    (claim,) = [claim for claim in CLAIMS if claim.name == name]
    return claim.judge(results, "lmdh")


def with_replays(
    recalls: Mapping[str, Any], diversities: Mapping[str, Any] | None = None
) -> Results:
    """Return the paper's results with other recalls or diversities on every data set."""
    replays = made_replays({**AS_THE_PAPER_SAYS, **recalls}, {**SPREAD, **(diversities or {})})
    return made_results(replays=dict.fromkeys(ALL, replays))


def until(round_number: int, before: FloatArray | float, after: FloatArray | float) -> FloatArray:
    """Return one curve up to a round and another one after it."""
    return np.where(np.arange(1, ROUNDS + 1) <= round_number, before, after)


@pytest.fixture(scope="module")
def results() -> Results:
    """Return results that agree with the paper."""
    return made_results()


@pytest.fixture(scope="module")
def judgement(results: Results) -> Judgement:
    return judge(results)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_results_as_in_the_paper_make_every_claim_hold(claim: Claim, judgement: Judgement) -> None:
    found = judgement.claims[claim]

    assert found.status is Status.HOLDS, found.measured


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_nothing_measured_is_not_measured(claim: Claim) -> None:
    assert claim.judge(Results(), "lmdh").status is Status.NOT_MEASURED


def test_recall_that_is_behind_early_holds_in_part_and_names_rounds_and_rivals() -> None:
    lmdh = AS_THE_PAPER_SAYS["lmdh"]

    found = verdict(with_replays({"logrank": until(4, lmdh + 0.1, 0.0)}), "recall")

    assert found.status is Status.IN_PART
    assert "ahead of all in 26 of 30 rounds (5-30). Behind LogRank in 1-4" in found.measured


def test_recall_that_is_mostly_behind_does_not_hold() -> None:
    lmdh = AS_THE_PAPER_SAYS["lmdh"]

    found = verdict(with_replays({"mmr": until(16, lmdh + 0.1, 0.0)}), "recall")

    assert found.status is Status.FAILS


def test_level_recall_is_not_ahead() -> None:
    found = verdict(with_replays({"c2ucb": AS_THE_PAPER_SAYS["lmdh"]}), "recall")

    assert found.status is Status.FAILS
    assert "ahead of all in none of 30 rounds. Level with C2UCB in 1-30" in found.measured


def test_claim_that_holds_on_one_data_set_only_holds_in_part() -> None:
    good = made_replays(AS_THE_PAPER_SAYS, SPREAD)
    poor = made_replays({**AS_THE_PAPER_SAYS, "lmdh": 0.0}, SPREAD)

    found = verdict(made_results(replays={"ml-100k": good, "ml-1m": poor}), "f2")

    assert found.status is Status.IN_PART
    assert [part.status for part in found.evidence] == [
        Status.HOLDS,
        Status.FAILS,
        Status.NOT_MEASURED,
    ]


@pytest.mark.parametrize(
    ("behind", "status"), [(7, Status.HOLDS), (8, Status.IN_PART), (16, Status.FAILS)]
)
def test_usually_asks_for_three_quarters_of_the_rounds(behind: int, status: Status) -> None:
    lmdh = AS_THE_PAPER_SAYS["lmdh"]

    found = verdict(with_replays({"c2ucb": until(behind, lmdh + 0.3, 0.0)}, {"c2ucb": 0.6}), "f1")

    assert found.status is status


def test_comparable_asks_only_not_to_be_behind() -> None:
    same = {"epsilon-greedy": AS_THE_PAPER_SAYS["lmdh"]}

    found = verdict(with_replays(same, {"epsilon-greedy": SPREAD["lmdh"]}), "f1-anime")

    assert found.status is Status.HOLDS


def test_falling_behind_epsilon_greedy_is_not_comparable() -> None:
    found = verdict(with_replays({"epsilon-greedy": 0.99}, {"epsilon-greedy": 0.9}), "f1-anime")

    assert found.evidence[1].status is Status.FAILS


@pytest.mark.parametrize(
    ("diversity", "status"),
    [(0.65, Status.HOLDS), (0.35, Status.HOLDS), (0.8, Status.FAILS), (0.25, Status.FAILS)],
    ids=["second", "third", "first", "fourth"],
)
def test_diversity_is_second_or_third(diversity: float, status: Status) -> None:
    found = verdict(with_replays({}, {"lmdh": diversity, "c2ucb": 0.55}), "diversity")

    assert found.status is status, found.measured


def test_less_diverse_than_c2ucb_does_not_hold() -> None:
    found = verdict(with_replays({}, {"c2ucb": 0.62}), "diversity-c2ucb")

    assert found.status is Status.FAILS


def test_dc2b_after_round_15_does_not_matter_for_its_diversity() -> None:
    found = verdict(with_replays({}, {"dc2b": until(15, 0.3, 0.9)}), "diversity-dc2b")

    assert found.status is Status.HOLDS


def test_dc2b_that_stays_good_holds_in_part() -> None:
    found = verdict(with_replays({"dc2b": AS_THE_PAPER_SAYS["lmdh"] + 0.05}), "dc2b")

    assert found.status is Status.IN_PART


def test_lead_that_shrinks_is_no_gain() -> None:
    others = ("c2ucb", "logrank", "mmr", "epsilon-greedy", "dc2b")
    catching_up = np.linspace(-0.1, -0.05, ROUNDS)

    found = verdict(
        with_replays(dict.fromkeys(others, AS_THE_PAPER_SAYS["lmdh"] + catching_up)), "pulling-away"
    )

    assert found.status is Status.FAILS


@pytest.mark.parametrize(("share", "status"), [(0.97, Status.HOLDS), (0.9, Status.FAILS)])
def test_insensitive_means_a_change_of_less_than_5_per_cent(share: float, status: Status) -> None:
    lmdh = AS_THE_PAPER_SAYS["lmdh"]
    # Diversity shrinks as recall does, and F1 with both.
    two = made_replays({"a": lmdh, "b": share * lmdh}, {"a": 0.6, "b": share * 0.6})
    values = {0.1: two["b"], 1.0: two["a"], 50.0: two["b"]}

    found = verdict(
        made_results(sensitivity={"ridge": values, "exploration": values}), "insensitive"
    )

    assert found.status is status
    assert found.evidence[0].numbers["change"] == pytest.approx(1.0 - share, abs=0.005)


def test_values_below_1_do_not_matter_for_insensitivity() -> None:
    replays = made_replays({"a": AS_THE_PAPER_SAYS["lmdh"], "b": 0.0})
    values = {0.5: replays["b"], 1.0: replays["a"], 2.0: replays["a"]}

    found = verdict(
        made_results(sensitivity={"ridge": values, "exploration": values}), "insensitive"
    )

    assert found.status is Status.HOLDS


def test_one_length_that_fails_makes_lengths_hold_in_part() -> None:
    results = made_results()
    poor = made_replays({"lmdh": 0.1, "c2ucb": 0.5, "dc2b": 0.5})

    found = verdict(replace(results, lengths={**results.lengths, 15: poor}), "lengths")

    assert found.status is Status.IN_PART
    assert found.evidence[-1].where == "|A| = 15"


def test_regret_above_a_rivals_is_not_lowest() -> None:
    level = {"lmdh": 0.3, "c2ucb": 0.1, "dc2b": 0.2, "lsb": 0.2}
    regret = made_regret({name: np.full(20, slope) for name, slope in level.items()})

    found = verdict(made_results(regrets={"none": regret}), "regret")

    assert found.status is Status.FAILS


def test_another_reading_does_not_change_the_verdict_on_regret() -> None:
    good = made_results().regrets["none"]
    poor = made_regret({name: np.full(50, 0.1) for name in good.names})

    found = verdict(made_results(regrets={"growing": poor, "none": good}), "regret")

    assert found.status is Status.HOLDS
    assert len(found.evidence) == 2


@pytest.mark.parametrize(
    ("last", "status"), [(0.02, Status.HOLDS), (0.15, Status.IN_PART), (0.3, Status.FAILS)]
)
def test_flattening_is_by_the_slope_at_the_end(last: float, status: Status) -> None:
    slope = np.concatenate([np.full(10, 0.2), np.full(30, 0.1), np.full(10, last)])

    found = verdict(made_results(regrets={"none": made_regret({"lmdh": slope})}), "flattening")

    assert found.status is status


@pytest.mark.parametrize(("off", "status"), [(0.001, Status.HOLDS), (-0.002, Status.FAILS)])
def test_ratios_may_differ_by_the_tolerance(off: float, status: Status) -> None:
    results = made_results()

    shifted = {"none": {"greedy": results.ratios["none"]["greedy"] + off}}

    assert verdict(replace(results, ratios=shifted), "ratios").status is status


def test_sample_of_anime_is_not_compared_with_the_papers_table() -> None:
    found = verdict(made_results(), "table-1")

    assert found.evidence[2] == Evidence(
        "Anime (sample)", Status.NOT_MEASURED, "not measured: a sample"
    )


def test_number_that_differs_from_table_1_is_named() -> None:
    rows = {**TABLE_1, "ml-100k": TABLE_1["ml-100k"]._replace(items=1448)}

    found = verdict(made_results(table1=rows), "table-1")

    assert found.status is Status.IN_PART
    assert found.evidence[0].finding == "items 1,448 where the paper has 1,447"


def test_exploration_that_costs_is_named_so() -> None:
    results = with_replays({"lmdh-greedy": AS_THE_PAPER_SAYS["lmdh"] + 0.05}, {"lmdh-greedy": 0.6})

    (found,) = judge(results).questions.values()

    costs = [part for part in found.evidence if part.finding.endswith("it costs")]
    assert len(costs) == 6
    assert found.status is Status.IN_PART  # it pays in the simulation


def test_each_reading_is_judged_by_its_own_replay(judgement: Judgement) -> None:
    found = judgement.by_reading

    statuses = {claim.name: verdicts for claim, verdicts in found.items()}["recall"]
    assert {reading: verdict.status for reading, verdict in statuses.items()} == {
        "growing": Status.HOLDS,
        "fixed": Status.HOLDS,
        "none": Status.FAILS,
    }


def test_counts_are_of_the_papers_claims(judgement: Judgement) -> None:
    assert judgement.count(Status.HOLDS) == len(CLAIMS)
    assert judgement.count(Status.FAILS) == 0


def test_names_of_claims_are_their_own() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    ("rounds", "text"),
    [
        ([], ""),
        ([0], "1"),
        ([0, 1, 2], "1-3"),
        ([1, 3, 4, 9], "2, 4-5, 10"),
    ],
)
def test_ranges_count_rounds_from_1(rounds: list[int], text: str) -> None:
    assert round_ranges(np.isin(np.arange(10), rounds), range(10)) == text


def test_comparison_is_of_the_rounds_asked_for() -> None:
    replays = made_replays({"lmdh": 0.5, "mmr": until(15, 0.4, 0.6)})

    found = compare(replays, "lmdh", ["mmr"], "recall", (10, 20))

    assert found is not None
    np.testing.assert_array_equal(found.ahead, [[True] * 6 + [False] * 5])


def test_interval_is_students() -> None:
    # Mean 2, standard deviation 1, t of 2 degrees 4.3027: 4.3027 / sqrt(3) to each side.
    found = student_interval(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))

    assert found.at(0) == pytest.approx((2.0, 2.0 - 2.48414, 2.0 + 2.48414), abs=1e-5)
    assert found.at(1) == (0.0, 0.0, 0.0)


def test_interval_of_a_single_run_is_infinite() -> None:
    assert student_interval(np.array([1.5])).at() == (1.5, -np.inf, np.inf)
