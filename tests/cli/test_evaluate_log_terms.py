"""`variegate evaluate-log`: lists are evaluated under the terms that they were given under."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.logged import SERVED, evaluated, refusal
from tests.cli.serving import Place, placed
from tests.cli.world import MIX
from tests.engine.shop import NOON, Clock, Shop, new_item
from variegate import Catalogue
from variegate.engine.interactions import Interaction, LearnInteractions
from variegate.engine.replay import relearn
from variegate.policies import Dial
from variegate.store import ITEMS_HISTORY, ITEMS_REVISION, Store

pytestmark = pytest.mark.usefixtures("new_folder")

TOO_FEW_USERS = "intervals from 3 users are too narrow: at least 20 are needed"


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


def buy(shop: Shop, *items: str, **how: Any) -> None:
    """Let three users buy items outside their lists."""
    for user in ("ann", "bob", "cyd"):
        shop.do(LearnInteractions(user, (Interaction(dict.fromkeys(items, 1.0), **how),)))


def test_interactions_outside_lists_are_learnt_and_hidden_as_they_were(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        buy(shop, "i1", "i2")
        played(shop, clock)
        buy(shop, "i3", allow_repeats=True)
        shop.snapshot(new_item("new"))
        played(shop, clock)
        buy(shop, "new", "i4")
        played(shop, clock)

    value, notes = noted(memory)

    assert (value["lists"], value["value"]) == (9, pytest.approx(1.0))
    assert value["effective_sample_size"] == pytest.approx(9)
    assert notes == [TOO_FEW_USERS]


def test_a_log_file_cannot_hold_interactions(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        buy(shop, "i1")
        played(shop, clock)

    message = refusal(memory, "--policy", SERVED, "--out", "log.jsonl")

    assert "user 'ann' was taught by interactions outside lists too" in message
    assert not Path("log.jsonl").exists()


def test_lists_under_constraints_are_evaluated_under_the_same(memory: Place) -> None:
    clock = Clock()
    with memory.shop(clock=clock, mix=MIX) as shop:
        played(shop, clock)
        played(shop, clock, candidates=tuple(f"i{row}" for row in range(8)))
        played(shop, clock, k=3)
        played(shop, clock, exclude=("i1", "i2", "unknown"))
        played(shop, clock, where={"attribute": "year", "<": 2000})
        played(shop, clock, allow_repeats=True)
        played(shop, clock, dial=Dial(scale=0.0, floor={"genres": 2.0}))
        played(shop, clock)

    value, notes = noted(memory)

    # The policy that was served has the same probabilities: all weights are 1.
    assert (value["lists"], value["effective_sample_size"]) == (21, pytest.approx(21))
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


def test_store_that_is_not_there_is_not_made(memory: Place) -> None:
    assert "shop.db" in refusal(memory)
    assert not (memory.folder / "shop.db").exists()
