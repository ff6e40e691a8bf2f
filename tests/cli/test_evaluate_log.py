"""`variegate evaluate-log`: a log with chance in it tells what other policies would earn."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import fail, run
from tests.cli.serving import Place, placed
from tests.cli.world import FIXED, ITEMS, LMDH, MIX, K, Served, catalogue, clicks_of, serve
from tests.service.desk.shop import Clock, Shop, new_item
from variegate.policies import parse_policy
from variegate.slate import slate_of

USERS, ROUNDS = 50, 24
#: No list is rarer than 0.3 / 5 times 0.3 / 4, and the squares of what lists earn are 1 on average.
LARGEST_ERROR = np.sqrt(1.0 / (MIX / 5 * MIX / 4) / (USERS * ROUNDS))
OTHER = "lmdh:ridge=10,normaliser=none"
SERVED = "lmdh:ridge=1,exploration=0.3"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a folder with the catalogue of the small world."""
    found = Place(tmp_path_factory.mktemp("logged"))
    catalogue().save(found.catalogue)
    return found


@pytest.fixture(scope="module")
def served(place: Place) -> Served:
    """Serve fifty users with chance in their lists, and keep the log."""
    return serve(place, "shop", LMDH, users=USERS, rounds=ROUNDS, seed=3)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def evaluated(place: Place, *words: object, store: str = "shop") -> dict[str, Any]:
    told = run(
        "evaluate-log",
        "--store",
        place.url(store),
        "--catalogue",
        place.catalogue,
        "--json",
        *words,
    )
    found: dict[str, Any] = json.loads(told)
    return found


def test_the_policy_that_was_served_earned_what_was_seen(place: Place, served: Served) -> None:
    found = evaluated(place, "--policy", LMDH)

    assert (found["lists"], found["k"], found["users"]) == (USERS * ROUNDS, K, USERS)
    assert found["chances"] == [MIX]
    assert found["notes"] == []
    value = found["policies"][LMDH]
    # The replay finds each list's own propensities again: all weights are 1.
    assert value["value"] == pytest.approx(served.clicks.sum(axis=2).mean(), rel=1e-9)
    assert value["effective_lists"] == pytest.approx(USERS * ROUNDS)
    assert value["warnings"] == []


@pytest.mark.parametrize("estimator", ["rips", "sips", "dr"])
@pytest.mark.usefixtures("served")
def test_another_policy_earns_what_it_earns_when_it_is_served(place: Place, estimator: str) -> None:
    live = serve(place, f"fixed-{estimator}", FIXED, users=USERS, rounds=1, seed=5, mix=0.0)

    found = evaluated(place, "--policy", FIXED, "--mix", 0, "--estimator", estimator)

    (value,) = found["policies"].values()
    assert abs(value["value"] - live.expected.mean()) < 3.0 * value["standard_error"]
    assert value["standard_error"] < LARGEST_ERROR


@pytest.mark.parametrize("estimator", ["rips", "dr"])
def test_a_log_of_a_policy_that_draws_counts_whole_with_its_settings(
    place: Place, tmp_path: Path, estimator: str
) -> None:
    line, store = "lmdt:exploration=1", f"drawn-{estimator}"
    serve(place, store, line, users=USERS, rounds=ROUNDS, seed=3)
    live = serve(place, f"fixed-too-{estimator}", FIXED, users=USERS, rounds=1, seed=5, mix=0.0)
    (tmp_path / "shop.toml").write_text(f'memory = 0\n[policies]\nserved = "{line}"\n')
    asked = "--policy", FIXED, "--mix", 0, "--estimator", estimator, "--config", "shop.toml"

    found = evaluated(place, *asked, store=store)

    assert (found["lists"], found["notes"]) == (USERS * ROUNDS, [])
    (value,) = found["policies"].values()
    assert abs(value["value"] - live.expected.mean()) < 3.0 * value["standard_error"]
    assert found == evaluated(place, *asked, store=store)  # the policy draws, the command does not


def lists_along(served: Served, line: str) -> float:
    """Return what a policy's lists are worth when it learns from the lists that were shown."""
    items, worth = catalogue(), []
    for user in range(USERS):
        policy = parse_policy(line)(items)
        for shown, clicks in zip(served.items[:, user], served.clicks[:, user], strict=True):
            worth.append(clicks_of(f"u{user}", policy.recommend(K).items).sum())
            policy.update(slate_of(items, shown, np.zeros(K), policy.normaliser), clicks)
    return float(np.mean(worth))


@pytest.mark.parametrize("estimator", ["rips", "dr"])
def test_a_policy_that_learns_is_valued_along_the_log(
    place: Place, served: Served, estimator: str
) -> None:
    found = evaluated(place, "--policy", OTHER, "--mix", 0, "--estimator", estimator)

    value = found["policies"][OTHER]
    assert abs(value["value"] - lists_along(served, OTHER)) < 3.0 * value["standard_error"]
    assert value["standard_error"] < LARGEST_ERROR


@pytest.mark.usefixtures("served")
def test_self_normalised_is_steadier(place: Place) -> None:
    plain, normalised = (
        evaluated(place, "--policy", OTHER, *words)["policies"][OTHER]["standard_error"]
        for words in ((), ("--self-normalised",))
    )

    assert normalised < plain


@pytest.mark.usefixtures("served")
def test_the_log_as_a_file_says_the_same(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "shown.jsonl"
    policies = ("--policy", LMDH, "--policy", FIXED)

    stored = evaluated(place, *policies, "--out", path)
    told = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--json", *policies)

    assert len(path.read_text(encoding="utf-8").splitlines()) == USERS * ROUNDS
    from_file = json.loads(told)
    assert (from_file["lists"], from_file["chances"]) == (USERS * ROUNDS, [MIX])
    for name, value in stored["policies"].items():
        assert from_file["policies"][name]["value"] == pytest.approx(value["value"])


@pytest.mark.usefixtures("served")
def test_table_and_words(place: Place) -> None:
    words = ("evaluate-log", "--store", place.url(), "--catalogue", place.catalogue)

    lines = run(*words, "--policy", LMDH, "--policy", "mmr:trade_off=1", "--mix", 0).splitlines()

    assert lines[0] == f"{USERS * ROUNDS} lists of {K} items for {USERS} users, mixed by {MIX}"
    assert " ".join(lines[1].split()) == "policy a list earns 95% interval effective lists"
    assert lines[2].startswith("the log itself")
    assert lines[3].split()[0] == LMDH
    assert "mmr:trade_off=1: the log says as much of it as " in lines[-1]
    assert lines[-1].endswith(" lists of its own would: too few to trust")


@pytest.mark.usefixtures("served")
def test_policies_of_the_service_are_the_default(place: Place) -> None:
    assert list(evaluated(place)["policies"]) == ["lmdp"]


def test_what_was_never_shown_is_not_guessed(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "shown.jsonl"
    line = {"user": "u", "items": ["0", "1"], "propensities": [0.5, 0.5], "rewards": [1, 0]}
    path.write_text((json.dumps(line) + "\n") * 3, encoding="utf-8")

    told = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--policy", FIXED)

    assert "popular:popularity=[4, 1, 2, 3, 5]: what it would show is not in the log" in told
    assert f"every list is taken to be chosen from all {ITEMS} items" in told
    assert "all lists are one user's: the intervals speak of that user alone" in told


@pytest.fixture
def memory(tmp_path: Path) -> Place:
    """Return a place whose service does not show again what it showed."""
    return placed(tmp_path)


def played(shop: Shop, clock: Clock, **wish: Any) -> None:
    """Let three users ask for a list and like its second item."""
    for user in ("ann", "bob", "cyd"):
        clock.now += 60.0
        shop.click(user, 1, **wish)


def noted(place: Place) -> tuple[dict[str, Any], list[str]]:
    """Return the lists that count and the value of the policy that was served, and the notes."""
    found = evaluated(place, "--policy", SERVED)
    return {"lists": found["lists"], **found["policies"][SERVED]}, found["notes"]


def test_what_was_shown_before_is_no_candidate(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        for _ in range(5):
            played(shop, clock)

    value, notes = noted(memory)

    assert (value["lists"], value["value"]) == (15, pytest.approx(1.0))
    assert value["effective_lists"] == pytest.approx(15)
    assert notes == ["intervals from 3 users are too narrow: gather 20 at least"]


def test_lists_from_candidates_that_nobody_knows_are_left_out(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        played(shop, clock, candidates=tuple(f"i{row}" for row in range(8)))
        played(shop, clock, k=3)
        played(shop, clock, show_again=True)
        played(shop, clock)

    value, notes = noted(memory)

    assert (value["lists"], value["effective_lists"]) == (9, pytest.approx(9))
    assert notes[0] == "3 lists of other lengths were learnt from only: --k takes them"
    assert notes[1].startswith("3 lists were learnt from only: they were chosen from other items")


def test_items_that_came_later_were_no_candidates(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        played(shop, clock)
        shop.stock(new_item("first"), new_item("second"))
        played(shop, clock)

    value, _ = noted(memory)

    assert (value["lists"], value["effective_lists"]) == (9, pytest.approx(9))


def test_items_that_were_retired_are_not_shown_by_others(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        for _ in range(4):
            played(shop, clock)
        shop.retire("i3")

    value, _ = noted(memory)

    assert value["lists"] == 12
    assert 0.0 < value["effective_lists"] <= 12.0


def test_lists_taken_back_were_not_shown(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        for user in ("ann", "bob"):
            clock.now += 60.0
            old = shop.give(user)["slate_id"]
            clock.now += 60.0
            shop.click(user, instead_of=old)
        played(shop, clock)

    value, _ = noted(memory)

    assert (value["lists"], value["effective_lists"]) == (8, pytest.approx(8))


def refusal(place: Place, *words: object) -> str:
    return fail(
        "evaluate-log", "--store", place.url(), "--catalogue", place.catalogue, "--policy", SERVED,
        *words,
    )  # fmt: skip


def test_log_without_lists_is_told(memory: Place) -> None:
    with memory.shop():
        pass

    assert refusal(memory).endswith(": there are no lists yet")


def test_log_without_propensities_says_how_to_get_them(memory: Place, tmp_path: Path) -> None:
    with memory.shop() as shop:
        shop.click()

    message = refusal(memory, "--out", "shown.jsonl")

    assert message.endswith("none of 1 lists has propensities: serve with --mix 0.05 first")
    assert not (tmp_path / "shown.jsonl").exists()


def test_log_without_answers_is_told(memory: Place) -> None:
    with memory.shop(mix=MIX) as shop:
        shop.give()

    assert refusal(memory).endswith("none of 1 lists with propensities was answered yet")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", 7), "`k` must be a length of answered lists (2), got 7"),
        (("--mix", 2), "`mix` must"),
        (("--policy", "uniform"), "`policy` must choose the same list every time, got uniform"),
        (("--policy", "lmbh"), "`policy` must be one of"),
        (("--estimator", "risp"), "`estimator` must be one of rips, sips, dr, got 'risp'"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("served")
def test_questions_that_make_no_sense_are_refused(
    place: Place, words: tuple[object, ...], message: str
) -> None:
    assert refusal(place, *words).startswith(message)


def test_store_that_is_not_there_is_not_made(memory: Place) -> None:
    assert "shop.db" in refusal(memory)
    assert not (memory.folder / "shop.db").exists()


def test_store_of_a_password_is_not_told() -> None:
    message = fail("evaluate-log", "--store", "postgresql://me:secret@127.0.0.1:1/none")

    assert "secret" not in message
