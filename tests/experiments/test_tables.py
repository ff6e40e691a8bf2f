"""The tables: numbers as text, the best in bold, reconstructions named as such."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.methods import ABLATIONS
from experiments.report.markdown import beyond_tables
from experiments.results import Results
from experiments.simulated.cold_start import LEARNERS as STARTS
from experiments.simulated.cold_start import ColdStart
from experiments.simulated.drift import FORGETTING, KINDS, LEARNERS, Drift
from experiments.simulated.examination import Examination
from experiments.simulated.multi_distance import LEARNERS as KNOWN
from experiments.simulated.multi_distance import MultiDistance
from experiments.simulated.variety import Variety
from experiments.tables import (
    Table,
    catalogue_table,
    cold_start_table,
    drift_table,
    examination_table,
    measure_tables,
    multi_distance_table,
    regret_table,
    seconds_table,
    simulated_tables,
    table_1,
)
from tests.experiments.making import (
    beyond_results,
    made_beyond,
    made_frontier,
    made_replays,
    made_results,
)

RUNS, ROUNDS = 3, 20


@pytest.fixture(scope="module")
def results() -> Results:
    return made_results()


@pytest.fixture(scope="module")
def recall(results: Results) -> Table:
    return next(measure_tables(results.replays["ml-100k"]))


@pytest.fixture(scope="module")
def beyond() -> dict[str, Table]:
    """Return the tables of one data set beyond the paper, and of several distances."""
    one = made_beyond()
    one = replace(one, replays={"ml-100k": one.replays["ml-100k"]})
    found = beyond_tables(beyond_results(one))
    return {table.title: table for _, tables in found for table in tables}


def test_dc2b_is_named_a_reconstruction_in_every_table(results: Results) -> None:
    replays = results.replays["ml-100k"]
    tables = (*measure_tables(replays), catalogue_table("made", replays), regret_table(results))

    names = [name for table in tables for name, _cells in table.rows if "DC2B" in name]

    assert len(names) == 11
    assert all("reconstructed: " in name for name in names)


def test_best_of_each_column_is_marked(recall: Table) -> None:
    best = {name for name, cells in recall.rows if cells[0].best}

    # LMDH with the fixed normaliser was made the same as LMDH.
    assert best == {"LMDH", "LMDH, fixed"}
    assert recall.heads == ("method", "t = 1", "t = 5", "t = 10", "t = 30", "s.e. over splits")


def test_single_split_has_no_error_over_splits(results: Results) -> None:
    one = {"lmdh": results.replays["ml-100k"]["lmdh"][:1]}

    assert next(measure_tables(one)).heads[-1] == "t = 30"


def test_unknown_novelty_is_marked() -> None:
    (scores,) = made_replays({"lmdh": 0.2})["lmdh"][:1]
    unknown = replace(scores, novelty=np.full_like(scores.novelty, np.nan))

    found = catalogue_table("made", {"lmdh": [unknown]})

    assert [cell.text for cell in found.rows[0][1]] == ["0.500", "0.400", "not known"]


def test_table_1_has_the_papers_rows(results: Results) -> None:
    found = table_1(results)

    assert [name for name, _cells in found.rows] == [
        "MovieLens-100K",
        "in the paper",
        "MovieLens-1M",
        "in the paper",
        "Anime (sample)",
        "in the paper",
    ]
    assert [cell.text for cell in found.rows[0][1]] == ["942", "1,447", "55,375", "18", "4.06%"]


def test_times_add_up() -> None:
    found = seconds_table({"replay": 65.0, "simulation": 5.25})

    rows = [(name, cells[0].text) for name, cells in found.rows]
    assert rows == [("replay", "1 min 05 s"), ("simulation", "5.2 s"), ("total", "1 min 10 s")]


def test_f_scores_are_relative_to_lmdh(beyond: dict[str, Table]) -> None:
    rows = dict(beyond["F1"].rows)

    # 0.9 / 1.4 against 0.6 / 1.1, times two.
    assert rows["LMDP"][-1].text == "0.643 (+17.9%)"
    assert rows["LMDP"][-1].best
    assert rows["LMDH"][-1].text.endswith("(+0.0%)")


def test_ease_is_a_baseline_and_no_ablation(beyond: dict[str, Table]) -> None:
    parts = [name for name, _ in beyond["What each part adds"].rows]

    assert parts == ["LMDP", *(method.title for method in ABLATIONS)]
    assert "EASE with MSD" in dict(beyond["F1"].rows)
    assert "EASE with MSD, by its diversity" in dict(beyond["Other methods and our frontier"].rows)


def test_betas_are_under_the_distances_of_the_learner(beyond: dict[str, Table]) -> None:
    rows = dict(beyond["Two distances on MovieLens-100K, after the last list"].rows)

    learnt = {name: [cell.text for cell in cells[-2:]] for name, cells in rows.items()}
    assert learnt == {
        "LMDP with cosine": ["+0.100 ± 0.000", "none"],
        "LMDP with genres": ["none", "+0.200 ± 0.000"],
        "LMDP with cosine and genres": ["+0.300 ± 0.000", "-0.400 ± 0.000"],
    }


def test_settings_above_our_frontier_are_listed(beyond: dict[str, Table]) -> None:
    frontier = made_frontier(mmr={"trade off 1": (0.9, 0.65)})
    one = made_beyond(frontier={"ml-100k": frontier})
    one = replace(one, replays={"ml-100k": one.replays["ml-100k"]})

    tables = [table for _, found in beyond_tables(beyond_results(one)) for table in found]

    (above,) = [table for table in tables if table.title == "Above our frontier"]
    assert [name for name, _ in above.rows] == [
        f"MMR (trade off 1), t = {t}" for t in (1, 5, 10, 30)
    ]
    assert "Above our frontier" not in beyond
    assert "Other methods and our frontier" in beyond


def test_gain_of_forgetting_is_in_per_cent_of_the_best() -> None:
    earned = np.full((RUNS, len(KINDS), len(LEARNERS), len(FORGETTING), ROUNDS), 0.5)
    earned[..., 0, :] = 0.6
    drift = Drift(np.ones((RUNS, len(KINDS), ROUNDS)), earned)

    found = drift_table(drift)

    assert found.heads == ("learner, tastes", *(f"forgetting {f:g}" for f in FORGETTING[:-1]))
    assert len(found.rows) == len(KINDS) * len(LEARNERS)
    assert {cells[0].text for _, cells in found.rows} == {"+10.0% (+10.0 to +10.0)"}


def test_learners_are_in_order_with_what_they_start_from() -> None:
    earned = np.ones((RUNS, len(STARTS), ROUNDS)) * np.arange(len(STARTS))[:, None] / 10

    found = cold_start_table(ColdStart(np.ones(RUNS), earned))

    names = [name for name, _ in found.rows]
    assert names[0] == "LMDH, from zero"
    assert {"LMDP, from a guess", "LMDP, fitted to others", "LMDP, from the truth"} <= set(names)
    assert len(set(names)) == len(names) == len(STARTS)
    assert found.rows[2][1][-1].text == "0.200 (0.200 to 0.200)"


def test_share_of_users_found_is_beside_chance() -> None:
    found = np.zeros((RUNS, ROUNDS, 3))
    found[..., 1] = 0.3
    earned = np.full((RUNS, len(KNOWN), ROUNDS), 0.8)
    made = MultiDistance(np.array([1.0, 1.0, 2.0]), found, np.ones(RUNS), earned)

    (table,) = simulated_tables({"multi_distance": made})

    assert table == multi_distance_table(made)
    assert "the right one for 67% of users (0% to 100%; by chance 33%)" in table.note
    assert {cells[0].text for _, cells in table.rows} == {"0.800 (0.800 to 0.800)"}


def test_errors_are_those_of_each_learner() -> None:
    errors = np.ones((RUNS, 2, 2, ROUNDS, 4)) * np.array([0.5, 1.0])[:, None, None]
    earned = np.full((RUNS, 2, 2, ROUNDS), 0.7)

    found = examination_table(Examination(errors, np.ones((RUNS, 4)), np.ones(RUNS), earned))

    assert [cells[0].text[:5] for _, cells in found.rows] == ["0.500", "1.000"] * 2


def test_statements_about_variety_are_counted_by_kind_of_user() -> None:
    positive = np.array([[0.5, 0.99], [0.99, 0.5]])

    (table,) = simulated_tables({"variety": Variety(np.zeros(2), positive, np.full((2, 2), 0.5))})

    assert table.heads == ("users", "right by list 2", "ever wrong")
    assert [[cell.text for cell in cells] for _, cells in table.rows] == [
        ["100%", "0%"],
        ["0%", "100%"],
    ]
