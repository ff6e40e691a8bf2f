"""`variegate evaluate-log`: a log with chance in it tells what other policies would earn."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.running import fail, run
from tests.cli.serving import Place, placed
from tests.cli.world import FIXED, ITEMS, LMDH, MIX, K, Served, catalogue, clicks_of, serve
from tests.engine.shop import NOON, Clock, Shop, new_item
from variegate import Catalogue
from variegate.engine.replay import relearn
from variegate.model.slate import slate_of
from variegate.policies import Dial, parse_policy
from variegate.store import ITEMS_HISTORY, ITEMS_REVISION, Store

USERS, ROUNDS = 50, 12
#: No list is rarer than 0.3 / 5 times 0.3 / 4, and the squares of what lists earn are 1 on average.
LARGEST_ERROR = np.sqrt(1.0 / (MIX / 5 * MIX / 4) / (USERS * ROUNDS))
OTHER = "lmdh:ridge=10,normaliser=none"
SERVED = "lmdh:ridge=1,exploration=0.3"
TOO_FEW_USERS = "intervals from 3 users are too narrow: at least 20 are needed"


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


@pytest.fixture(scope="module")
def fixed(place: Place) -> float:
    """Return what the lists of FIXED are worth to the users to whom they are shown."""
    shown = serve(place, "fixed", FIXED, users=USERS, rounds=1, seed=5, mix=0.0)
    return float(shown.expected.mean())


@pytest.fixture(scope="module")
def drawn(place: Place) -> str:
    """Serve fifty users by a policy that draws; return the name of the store."""
    serve(place, "drawn", "lmdt:exploration=1", users=USERS, rounds=ROUNDS, seed=3)
    return "drawn"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")


def evaluated(place: Place, *words: object, store: str = "shop") -> dict[str, Any]:
    result = run(
        "evaluate-log",
        "--store",
        place.url(store),
        "--catalogue",
        place.catalogue,
        "--json",
        *words,
    )
    found: dict[str, Any] = json.loads(result)
    return found


def test_the_policy_that_was_served_earned_what_was_seen(place: Place, served: Served) -> None:
    found = evaluated(place, "--policy", LMDH)

    assert (found["lists"], found["k"], found["users"]) == (USERS * ROUNDS, K, USERS)
    assert found["mixes"] == [MIX]
    assert found["notes"] == []
    value = found["policies"][LMDH]
    # The replay finds each list's own propensities again: all weights are 1.
    assert value["value"] == pytest.approx(served.clicks.sum(axis=2).mean(), rel=1e-9)
    assert value["effective_sample_size"] == pytest.approx(USERS * ROUNDS)
    assert value["warnings"] == []


@pytest.mark.parametrize("estimator", ["rips", "sips", "dr"])
@pytest.mark.usefixtures("served")
def test_another_policy_earns_what_it_earns_when_it_is_served(
    place: Place, fixed: float, estimator: str
) -> None:
    found = evaluated(place, "--policy", FIXED, "--mix", 0, "--estimator", estimator)

    (value,) = found["policies"].values()
    assert abs(value["value"] - fixed) < 3.0 * value["standard_error"]
    assert value["standard_error"] < LARGEST_ERROR


@pytest.mark.parametrize("estimator", ["rips", "dr"])
def test_a_log_of_a_policy_that_draws_is_evaluated_whole(
    place: Place, drawn: str, fixed: float, estimator: str
) -> None:
    asked = "--policy", FIXED, "--mix", 0, "--estimator", estimator

    found = evaluated(place, *asked, store=drawn)

    assert (found["lists"], found["notes"]) == (USERS * ROUNDS, [])
    (value,) = found["policies"].values()
    assert abs(value["value"] - fixed) < 3.0 * value["standard_error"]
    assert found == evaluated(place, *asked, store=drawn)  # the policy draws, the command does not


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
    result = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--json", *policies)

    assert len(path.read_text(encoding="utf-8").splitlines()) == USERS * ROUNDS
    from_file = json.loads(result)
    assert (from_file["lists"], from_file["mixes"]) == (USERS * ROUNDS, [MIX])
    for name, value in stored["policies"].items():
        assert from_file["policies"][name]["value"] == pytest.approx(value["value"])


@pytest.mark.usefixtures("served")
def test_table_and_words(place: Place) -> None:
    words = ("evaluate-log", "--store", place.url(), "--catalogue", place.catalogue)

    lines = run(*words, "--policy", LMDH, "--policy", "mmr:trade_off=1", "--mix", 0).splitlines()

    assert lines[0] == f"{USERS * ROUNDS} lists of {K} items for {USERS} users, mix {MIX}"
    assert " ".join(lines[1].split()) == "policy reward per list 95% interval effective sample size"
    assert lines[2].startswith("the log itself")
    assert lines[3].split()[0] == LMDH
    assert lines[-1].startswith("mmr:trade_off=1: effective sample size: ")
    assert lines[-1].endswith(" lists, too few (at least 50)")


def test_pseudo_inverse_finds_what_the_served_policy_earned(
    place: Place, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "shop.toml").write_text(f'[policies]\nserved = "{LMDH}"\n', encoding="utf-8")
    out, asked = (
        tmp_path / "shown.jsonl",
        ("--policy", LMDH, "--policy", FIXED, "--estimator", "pi"),
    )

    found = evaluated(place, *asked, "--config", "shop.toml", "--out", out)
    result = run("evaluate-log", "--log", out, *asked, "--config", "shop.toml", "--json",
               "--catalogue", place.catalogue)  # fmt: skip

    assert (found["lists"], found["notes"]) == (USERS * ROUNDS, [])
    own, fixed = found["policies"].values()
    # The target's pairs are those of the log: all weights are 1.
    assert own["value"] == pytest.approx(served.clicks.sum(axis=2).mean(), rel=1e-6)
    assert own["effective_sample_size"] == pytest.approx(USERS * ROUNDS)
    assert fixed["mean_weight"] == pytest.approx(1.0, abs=0.2)
    from_file = list(json.loads(result)["policies"].values())
    assert [one["value"] for one in from_file] == pytest.approx([own["value"], fixed["value"]])


@pytest.mark.usefixtures("served")
def test_pseudo_inverse_needs_the_policy_that_made_the_log(place: Place) -> None:
    assert refusal(place, "--estimator", "pi").endswith(
        f"no list can be evaluated: {USERS * ROUNDS} lists: their propensities are not those of a "
        "policy in the service's settings, which `pi` needs (--config)"
    )


@pytest.mark.usefixtures("served")
def test_policies_of_the_service_are_the_default(place: Place) -> None:
    assert list(evaluated(place)["policies"]) == ["lmdp"]


def test_what_was_never_shown_is_not_guessed(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "shown.jsonl"
    line = {"user": "u", "items": ["0", "1"], "propensities": [0.5, 0.5], "rewards": [1, 0]}
    path.write_text((json.dumps(line) + "\n") * 3, encoding="utf-8")

    result = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--policy", FIXED)

    assert "popular:popularity=[4, 1, 2, 3, 5]: the log has no list that it would show" in result
    assert (
        f"3 lists without candidates in the log: assumed to be chosen from all {ITEMS} items"
        in result
    )
    assert "all lists are one user's: the intervals are about that user only" in result


@pytest.fixture
def memory(tmp_path: Path) -> Place:
    """Return a place whose service does not show again what it showed."""
    return placed(tmp_path)


def played(shop: Shop, clock: Clock, **request: Any) -> None:
    """Let three users ask for a list and like its second item."""
    for user in ("ann", "bob", "cyd"):
        clock.now += 60.0
        shop.click(user, 1, **request)


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
    assert value["effective_sample_size"] == pytest.approx(15)
    assert notes == [TOO_FEW_USERS]


def test_lists_under_constraints_are_evaluated_under_the_same(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        played(shop, clock, candidates=tuple(f"i{row}" for row in range(8)))
        played(shop, clock, k=3)
        played(shop, clock, exclude=("i1", "i2"))
        played(shop, clock, allow_repeats=True)
        played(shop, clock, dial=Dial(scale=0.0, floor={"genres": 2.0}))
        played(shop, clock)

    value, notes = noted(memory)

    # The policy that was served has the same probabilities: all weights are 1.
    assert (value["lists"], value["effective_sample_size"]) == (18, pytest.approx(18))
    assert value["mean_weight"] == pytest.approx(1.0, abs=1e-12)
    assert notes == [
        "3 lists of other lengths: only learnt from (--k evaluates them)",
        TOO_FEW_USERS,
    ]


def test_lists_under_another_mix_or_memory_are_evaluated_under_that(memory: Place) -> None:
    clock = Clock()
    for mix, count, days in [(0.3, 1000, 30.0), (0.6, 5, 30.0), (0.1, 1000, 0.001)]:
        with memory.shop(clock=clock, mix=mix, memory=count, memory_days=days) as shop:
            for _ in range(3):
                played(shop, clock)

    value, _ = noted(memory)

    assert (value["lists"], value["effective_sample_size"]) == (27, pytest.approx(27))
    assert evaluated(memory, "--policy", SERVED)["mixes"] == [0.1, 0.3, 0.6]


def test_a_policy_without_a_dial_is_evaluated_without(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=1.0) as shop:
        played(shop, clock, dial=Dial(scale=2.0))

    (value,) = evaluated(memory, "--policy", "mmr")["policies"].values()

    assert "3 lists with a dial, which it ignores" in value["warnings"]


def changed_items(shop: Shop) -> None:
    shop.snapshot({"id": "i5", "features": [3.0, 3.0, 3.0, 3.0], "distances": {"genres": ["war"]}})


ITEM_CHANGES: dict[str, Callable[[Shop], object]] = {
    "retired": lambda shop: shop.retire("i3"),
    "added": lambda shop: shop.snapshot(new_item("first")),
    "changed": changed_items,
}


@pytest.fixture(scope="module")
def log_of_240(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, Clock, dict[str, Any]]:
    """Log 240 lists of 24 users; return what two policies are worth by them."""
    place, clock = placed(tmp_path_factory.mktemp("items")), Clock()
    with place.shop(clock=clock, mix=MIX) as shop:
        for _ in range(10):
            for user in range(24):
                clock.now += 60.0
                shop.click(f"u{user}", user % 4)
    return place, clock, evaluated(place, "--policy", SERVED, "--policy", "mmr")


@pytest.mark.parametrize("change", ITEM_CHANGES)
def test_later_changes_of_items_change_no_estimate(
    log_of_240: tuple[Place, Clock, dict[str, Any]], tmp_path: Path, change: str
) -> None:
    place, clock, before = log_of_240
    shutil.copytree(place.folder, tmp_path, dirs_exist_ok=True)
    copy = Place(tmp_path)
    with copy.shop(clock=clock, mix=MIX) as shop:
        ITEM_CHANGES[change](shop)

    after = evaluated(copy, "--policy", SERVED, "--policy", "mmr")

    assert before["lists"] == 240
    assert after == before  # to the last digit


def test_each_list_is_evaluated_with_the_items_of_its_time(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        for change in ITEM_CHANGES.values():
            change(shop)
            played(shop, clock)

    value, notes = noted(memory)

    assert (value["lists"], value["effective_sample_size"]) == (12, pytest.approx(12))
    assert notes == [TOO_FEW_USERS]


def test_lists_from_before_terms_are_learnt_from_only(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
    with sqlite3.connect(memory.folder / "shop.db") as connection:
        connection.execute("UPDATE slates SET terms = '{}'")
    assert refusal(memory).endswith(
        "no list can be evaluated: 3 lists: they do not record what they were chosen from, as "
        "older versions of the service did not"
    )
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)

    value, notes = noted(memory)

    # What the first lists taught is in the probabilities of the later ones.
    assert (value["lists"], value["effective_sample_size"]) == (3, pytest.approx(3))
    assert notes[0] == (
        "3 lists: they do not record what they were chosen from, as older versions of the service "
        "did not: only learnt from"
    )


def test_lists_from_before_the_history_of_items_are_learnt_from_only(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        shop.retire("i3")
        with shop.store.batch() as batch:
            batch.set_meta(ITEMS_HISTORY, batch.meta(ITEMS_REVISION) or "")
        played(shop, clock)

    value, notes = noted(memory)

    assert value["lists"] == 3
    assert notes[0] == "3 lists: the items of their time are not known: only learnt from"


def test_lists_that_contradict_their_candidates_are_learnt_from_only(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
    with sqlite3.connect(memory.folder / "shop.db") as connection:
        connection.execute(
            "UPDATE slates SET propensities = '[0.001,0.5,0.5,0.5]' WHERE user_id = 'ann'"
        )

    value, notes = noted(memory)

    assert value["lists"] == 2
    assert notes[0].startswith("1 list: their propensities contradict the candidates")


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

    assert (value["lists"], value["effective_sample_size"]) == (8, pytest.approx(8))


def refusal(place: Place, *words: object) -> str:
    return fail(
        "evaluate-log", "--store", place.url(), "--catalogue", place.catalogue, "--policy", SERVED,
        *words,
    )  # fmt: skip


def test_log_without_lists_is_reported(memory: Place) -> None:
    with memory.shop():
        pass

    assert refusal(memory).endswith(": there are no lists yet")


def test_log_without_propensities_says_how_to_get_them(memory: Place, tmp_path: Path) -> None:
    with memory.shop() as shop:
        shop.click()

    message = refusal(memory, "--out", "shown.jsonl")

    assert message.endswith("no propensities on 1 list: serve with --mix 0.05 first")
    assert not (tmp_path / "shown.jsonl").exists()


def test_log_without_answers_is_reported(memory: Place) -> None:
    with memory.shop(mix=MIX) as shop:
        shop.give()

    assert refusal(memory).endswith("no feedback on 1 list with propensities yet")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", 7), "`k` must be a length of lists with feedback (2), got 7"),
        (("--mix", 2), "`mix` must"),
        (("--policy", "uniform"), "`policy` must choose the same list every time, got uniform"),
        (("--policy", "lmdt", "--estimator", "pi"), "`policy` must choose the same list every"),
        (("--policy", "lmbh"), "`policy` must be one of"),
        (("--estimator", "risp"), "`estimator` must be one of rips, sips, dr, pi, got 'risp'"),
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


def test_store_of_a_password_is_not_reported() -> None:
    message = fail("evaluate-log", "--store", "postgresql://me:secret@127.0.0.1:1/none")

    assert "secret" not in message


def test_lists_of_another_catalogue_are_left_out(tmp_path: Path) -> None:
    place = placed(tmp_path)
    items = Catalogue.load(place.catalogue)
    with place.shop(mix=0.3) as shop:
        for user in ("ann", "bob", "cyd"):
            shop.click(user)
            shop.click(user, candidates=("i0", "i1", "i2", "i3", "i4", "i5"), allow_repeats=True)
    few = Catalogue(
        items.ids[:12], items.features[:12], "cosine", feature_names=items.feature_names
    )
    few.save(place.catalogue)
    with Store.open(place.url()) as store:
        done = relearn(store, few, shop.experiment, lambda _done: None)
    assert done.dropped > 0
    assert done.lists > 0
    with place.shop(mix=0.3, items=few, clock=Clock(NOON + 60)) as shop:
        for user in ("ann", "bob"):
            shop.click(user)

    found = evaluated(place, "--policy", SERVED)

    assert (found["lists"], found["users"]) == (2, 2)
