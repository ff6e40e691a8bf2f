"""What is promised to teams with a ranker, rules and a history: measured small, judged by code."""

from pathlib import Path

import numpy as np

from tests.paths import FIXTURES, ROOT
from tools.findings import Finding, Part, Report
from tools.journeys import history, imports, rules, speed, users
from tools.journeys.findings import REPORT
from variegate import Catalogue
from variegate.data import load_movielens_100k
from variegate.policies.beliefs import TotalDiversity


def test_the_page_is_made_of_the_results() -> None:
    assert (ROOT / "docs" / "explanation" / "measured.md").read_text(
        encoding="utf-8"
    ) == REPORT.page(REPORT.load())
    assert REPORT.load().keys() == REPORT.titles.keys()


def test_a_part_replaces_only_itself(tmp_path: Path) -> None:
    old, new = (Part("how", [Finding("p", text, holds=True)]) for text in ("old", "new"))
    report = Report(tmp_path / "r.json", {"speed": "Speed", "users": "Users"}, "# {parts}\n")
    report.save({"users": old, "speed": old})
    report.save({"users": new})

    found = report.load()
    assert list(found) == ["speed", "users"]
    assert (found["speed"], found["users"]) == (old, new)
    assert "| p | new | holds |" in report.page(found)


def test_a_promise_that_is_not_kept_says_so() -> None:
    part = Part("how", [Finding("p", "f", holds=False)])

    assert "| p | f | **does not hold** |" in REPORT.page({"rules": part})


def test_a_state_of_a_rankers_user_is_small() -> None:
    found = speed.measure(budget=0.0).findings

    assert found[-1].holds
    assert len(found) == 3


def test_simulated_users_click_by_their_weights() -> None:
    request = users.draw_request(np.random.default_rng(1))
    first = np.argsort(-request.scores)[:2]

    chance = users.click_model(request, 0.5, 0.0)(first)
    varied = users.click_model(request, 0.0, 0.3)(first)

    assert chance[0] > chance[1] > 0.3
    assert varied[0] == 0.0 < varied[1]
    assert len(users.measure(users=2, lists=10).findings) == 4


def test_a_sure_sentence_is_judged_by_the_true_weight() -> None:
    less = TotalDiversity(0.2, 0.1, 0.3, positive=0.9, below_prior=0.99)
    assert [users.is_wrong(less, beta) for beta in (0.2, 0.4)] == [False, True]
    varied = TotalDiversity(0.2, 0.1, 0.3, positive=0.99, below_prior=0.3)
    assert [users.is_wrong(varied, beta) for beta in (0.2, 0.0)] == [False, True]
    likely = TotalDiversity(0.2, 0.1, 0.3, positive=0.5, below_prior=0.9)
    assert not users.is_wrong(likely, 0.4)


def test_every_condition_leaves_items() -> None:
    policy = rules.taught(rules.shop(0, 3000), 0)
    for make in rules.CONDITIONS.values():
        assert 0 < policy.catalogue.where(make(7)).sum() < 3000


def test_likes_are_halved() -> None:
    films = load_movielens_100k(FIXTURES / "ml-100k")
    catalogue = Catalogue(films.item_ids, np.eye(len(films.item_ids)), "cosine")

    for one in history.halves_of(films, catalogue, 0):
        user = films.user_ids.index(one.user)
        likes = {films.item_ids[item] for item in films.items[films.users == user]}
        assert set(one.imported) | set(one.held_out) == likes
        assert 0 <= len(one.held_out) - len(one.imported) <= 1


def test_an_import_is_judged_by_what_lists_wait() -> None:
    quick, slow = [0.010] * 98 + [0.020] * 2, [0.010] * 98 + [0.035] * 2
    assert [one.holds for one in imports.judged(quick, slow, 0.3)] == [True, True]
    assert [one.holds for one in imports.judged(slow, quick, 0.3)] == [False, False]
    # 25 ms longer than usual, which is more than the 20 ms that 99% take.
    rare = [0.010] * 198 + [0.020] * 1 + [0.040]
    assert [one.holds for one in imports.judged(slow, rare, 0.3)] == [False, True]
    assert imports.judged(slow, quick, 0.3)[0].found.startswith("by at most 25 ms, which is")

    found = imports.judged([0.01] * 100, [0.02] * 100, 3.0)
    assert [one.holds for one in found] == [False, False]
    assert all("not shown" in one.found for one in found)
