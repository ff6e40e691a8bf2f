"""Lists keep the terms that they were given under; a start logs what changed settings do."""

import io
import logging
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import pytest

from tests.engine.shop import LMDH, Clock, Shop, catalogue
from variegate.engine import Engine, Experiment, LiveCatalogue, Rules
from variegate.engine.executor import Executor
from variegate.engine.replicas import Replica, shared_configuration
from variegate.store import Store

WAIT = 60.0
SETTINGS: dict[str, dict[str, Any]] = {
    "first": {},
    "sum": {"aggregation": "sum"},
    "silence": {"default_reward": 0.25},
    "other-silence": {"default_reward": 0.75},
    "sum-and-silence": {"aggregation": "sum", "default_reward": 0.25},
    "learn-late": {"late": "learn"},
    "long-wait": {"wait_seconds": 10 * WAIT, "aggregation": "sum"},
}


def opened(store: Store, name: str, clock: Clock) -> Shop:
    return Shop(store, clock=clock, **{"k": 2, "wait_seconds": WAIT, **SETTINGS[name]})


def taught(shop: Shop, slate: str) -> dict[str, float]:
    """Return what a list has taught, by item, each once."""
    found: dict[str, float] = {}
    for event in shop.events():
        if event.slate_id == slate:
            lesson = {
                shop.slate(slate).items[int(at)]: to for at, to in event.body["taught"].items()
            }
            assert not lesson.keys() & found.keys()
            found |= lesson
    return found


def expected(settings: dict[str, Any], *rewards: float) -> list[float]:
    """Return what a list of two items teaches of which some got a reward."""
    silence = settings.get("default_reward")
    return sorted(rewards) if silence is None else sorted([*rewards, silence, silence][:2])


@pytest.mark.parametrize(("old", "new"), [*permutations(SETTINGS, 2)])
def test_every_change_leaves_lists_their_terms(store: Store, old: str, new: str) -> None:
    clock = Clock()
    before = opened(store, old, clock)
    result, silent = before.give("ann"), before.give("bob")
    liked = result["items"][0]["id"]
    before.tell(result["slate_id"], {liked: 0.5}, seen=[liked], event="e1")

    after = opened(store, new, clock)
    late, fresh = before.give("cat"), after.give("dan")
    same = after.tell(result["slate_id"], {liked: 0.5}, seen=[liked], event="e1")
    assert same["status"] == ("pending" if "aggregation" in SETTINGS[old] else "learnt")
    clock.now += 11 * WAIT
    after.engine.close_due()

    for answer, settings, rewards in (
        (result, SETTINGS[old], [0.5]),
        (silent, SETTINGS[old], []),
        (late, SETTINGS[old], []),
        (fresh, SETTINGS[new], []),
    ):
        lesson = taught(after, answer["slate_id"])
        assert sorted(lesson.values()) == expected(settings, *rewards)
        row = after.slate(answer["slate_id"])
        assert row.closed == (row.due is not None)
    after_time = after.tell(silent["slate_id"], {silent["items"][0]["id"]: 1.0})
    assert after_time["status"] == ("learnt" if "late" in SETTINGS[old] else "late")
    assert after.check().wrong == ()


def test_silence_teaches_nothing_of_lists_from_before_it_counted(any_store: Store) -> None:
    clock = Clock()
    shop = opened(any_store, "first", clock)
    for number in range(40):
        shop.give(f"u{number % 8}")
    clock.now += 2 * WAIT

    later = opened(any_store, "silence", clock)
    later.engine.close_due()

    assert later.events() == []
    assert all(later.user(f"u{number}").state is None for number in range(8))


def test_kept_feedback_is_learnt_though_the_first_counts_now(any_store: Store) -> None:
    clock = Clock()
    shop = opened(any_store, "sum", clock)
    given = shop.give()
    liked = given["items"][0]["id"]
    assert shop.tell(given["slate_id"], {liked: 0.25})["status"] == "pending"

    later = opened(any_store, "first", clock)
    assert later.tell(given["slate_id"], {liked: 0.5})["status"] == "pending"
    later.close(WAIT)

    assert taught(later, given["slate_id"])[liked] == 0.75
    assert later.check().wrong == ()


def test_terms_say_what_a_list_could_be_chosen_from(any_store: Store) -> None:
    shop = Shop(any_store, mix=0.5, memory=50, memory_days=2.0)
    shop.retire("i3")
    request: dict[str, Any] = {
        "candidates": ("i1", "i2", "i4"),
        "exclude": ("i4",),
        "allow_repeats": True,
        "k": 2,
    }

    plain = shop.slate(Shop(any_store, clock=shop.clock).give()["slate_id"])
    full = shop.slate(shop.give(**request)["slate_id"])

    assert plain.terms == {"revision": "1"}
    assert full.terms == {
        "revision": "1",
        "mix": 0.5,
        "candidates": ["i1", "i2", "i4"],
        "exclude": ["i4"],
        "allow_repeats": True,
        "memory": 50,
        "memory_days": 2.0,
    } | ({"displaced": full.terms["displaced"]} if "displaced" in full.terms else {})


def start(store: Store, policies: Mapping[str, str] = LMDH, **settings: Any) -> list[str]:
    """Start a service and end it; return what its start logs."""
    split = settings.pop("split", {})
    rules, experiment = Rules(**settings), Experiment(policies, split)
    logged = io.StringIO()
    handler = logging.StreamHandler(logged)
    logging.getLogger("variegate.engine").addHandler(handler)
    try:
        with Replica(store, shared_configuration(experiment, rules)) as replica:
            live = LiveCatalogue.open(catalogue(), store)
            Engine(Executor(store, live, experiment, rules, replica=replica))
    finally:
        logging.getLogger("variegate.engine").removeHandler(handler)
    return logged.getvalue().splitlines()


def test_first_start_and_the_same_settings_log_nothing(any_store: Store) -> None:
    assert start(any_store) == start(any_store) == []


def test_start_logs_what_a_changed_setting_does(any_store: Store) -> None:
    start(any_store, aggregation="sum")
    shop = Shop(any_store, aggregation="sum")
    for _ in range(3):
        shop.give()

    older = "; 3 older lists will close under the terms they were given under"
    assert start(any_store, default_reward=0.25, memory=9) == [
        f"setting `aggregation` changed from 'sum' to 'first': it applies to new lists{older}",
        f"setting `default_reward` changed from None to 0.25: it applies to new lists{older}",
        "setting `memory` changed from 1000 to 9: it applies to new lists",
    ]


def test_start_logs_the_effect_of_changed_policies_on_users(any_store: Store) -> None:
    lines = {**LMDH, "gone": "mmr", "kind": "lmdh"}
    start(any_store, lines, split={"gone": 1.0})
    shop = Shop(any_store, lines, split={"gone": 1.0})
    shop.give("ann")
    shop.give("bob")

    assert start(any_store, {"lmdh": "lmdh:ridge=2", "kind": "mmr", "more": "mmr"}) == [
        "policy `gone` is no longer served: its 2 users get another with their next list, and "
        "relearn from the log",
        "policy `kind` changed from 'lmdh' to 'mmr': its 0 users relearn from the log with their "
        "next list",
        "policy `lmdh` changed from 'lmdh:ridge=1,exploration=0.3' to 'lmdh:ridge=2': its 0 users "
        "keep their state",
        "policy `more` is new: new users may get it",
        "setting `split` changed from {'gone': 1.0} to {}: it applies to new users",
    ]
