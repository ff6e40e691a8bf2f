"""States are replayed from the log: checked, rebuilt, and relearnt for another catalogue."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.shop import LMDH, Shop, catalogue, new_item
from tests.engine.test_catalogue import retrained
from variegate import Catalogue
from variegate.engine import Feedback
from variegate.engine.codecs import SeenItems, unpack_slate
from variegate.engine.replay import RebuildUser, RelearnProgress, check_states, lessons, relearn
from variegate.errors import DataError
from variegate.policies import State
from variegate.store import RELEARNING, EventRow, Store


def lived_in(store: Store, **rules: Any) -> Shop:
    shop = Shop(store, LMDH, **rules)
    for number in range(4):
        for user in ("ann", "bob", "cid"):
            shop.click(user, place=number)
    return shop


def save_state(shop: Shop, user: str, state: bytes | None) -> None:
    with shop.store.batch() as batch:
        batch.save_users([shop.user(user)._replace(state=state)])


def tampered(shop: Shop, amount: float) -> bytes:
    state = State.from_bytes(shop.user("bob").state or b"")
    gram = np.array(state.arrays["gram"])
    gram[3] += amount
    return State(state.policy, {**state.arrays, "gram": gram}, state.version).to_bytes()


def test_states_equal_what_the_log_says(any_store: Store) -> None:
    check = lived_in(any_store).check()
    assert (check.users, check.wrong, check.largest) == (3, (), 0.0)


def test_sums_and_silence_are_in_the_log_too(any_store: Store) -> None:
    shop = lived_in(any_store, aggregation="sum", wait_seconds=60.0, default_reward=0.25)
    shop.close(61.0)
    with any_store.reading() as reader:
        taught = [rewards for _slate, rewards in lessons(reader, "ann")]
    assert [len(rewards) for rewards in taught] == [4] * 4
    check = shop.check()
    assert (check.users, check.wrong, check.largest) == (3, (), 0.0)


@pytest.mark.parametrize("amount", [2e-9, 1.0, float("nan"), float("inf")])
def test_a_state_that_was_tampered_with_is_found(any_store: Store, amount: float) -> None:
    shop = lived_in(any_store)
    save_state(shop, "bob", tampered(shop, amount))
    check = shop.check()
    assert (check.users, check.wrong) == (3, ("bob",))
    assert check.largest > 1e-9


@pytest.mark.parametrize("state", [None, b"", b"rubbish", State("mmr", {}).to_bytes()])
def test_a_state_that_is_no_state_is_found(store: Store, state: bytes | None) -> None:
    shop = lived_in(store)
    save_state(shop, "bob", state)
    assert shop.check().wrong == ("bob",)


def test_a_state_of_other_shapes_is_found(store: Store) -> None:
    shop = lived_in(store)
    arrays = {"gram": np.zeros(1), "response": np.zeros(1), "seen": np.zeros(1)}
    save_state(shop, "bob", State("lmdh", arrays).to_bytes())
    assert shop.check().wrong == ("bob",)


def test_a_log_that_says_something_twice_is_found(store: Store) -> None:
    shop = lived_in(store)
    event = shop.events("bob")[0]
    with store.batch() as batch:
        batch.add_events([EventRow(None, *event[1:])])
        row = shop.user("bob")
    shop.all(RebuildUser("bob"))  # now the state has learnt it twice as well
    assert row.state != shop.user("bob").state
    assert shop.check().wrong == ("bob",)


def test_a_wrong_state_is_rebuilt(any_store: Store) -> None:
    shop = lived_in(any_store)
    right = [shop.user(user) for user in ("ann", "bob", "cid")]
    save_state(shop, "bob", tampered(shop, 1.0))
    shop.all(RebuildUser("bob"))
    assert [shop.user(user).state for user in ("ann", "bob", "cid")] == [u.state for u in right]
    assert shop.check().wrong == ()


def test_lists_after_a_rebuild_are_made_by_the_new_state(store: Store) -> None:
    shop, twin = lived_in(store), Shop(store)
    shop.give("bob")  # remembered here
    save_state(shop, "bob", tampered(shop, 100.0))
    twin.give("bob")
    shop.all(RebuildUser("bob"))
    policy = shop.experiment.policy_of(shop.user("bob"), shop.items)
    expected = list(policy.recommend(4).ids)
    assert shop.ids("bob", allow_repeats=True) == twin.ids("bob", allow_repeats=True) == expected


def test_rebuilding_nobody_does_nothing(shop: Shop) -> None:
    assert shop.all(RebuildUser("ann")) == [{}]
    assert shop.check().users == 0


def test_users_of_a_policy_that_is_gone_are_not_called_wrong(store: Store) -> None:
    lived_in(store)
    later = Shop(store, {"new": "c2ucb"})
    assert later.check().wrong == ()
    later.all(RebuildUser("bob"))
    assert later.user("bob").policy == "new"
    assert later.check().wrong == ()


def test_a_long_log_is_read_in_pages(store: Store) -> None:
    shop = Shop(store, memory=0)
    reports = []
    for _ in range(130):
        given = shop.give(k=5)
        for item in given["items"]:
            reports.append(Feedback(given["slate_id"], {item["id"]: 0.5}, ()))
    shop.all(*reports)
    assert len(shop.events()) == 650
    seen: list[int] = []
    assert (shop.check().wrong, shop.check().largest) == ((), 0.0)
    check_states(store, shop.engine.live, shop.experiment, seen.append)
    assert seen == [1]


POLICIES = {"lmdh": "lmdh:ridge=1", "lsb": "lsb", "linucb": "linucb"}


def small_shop(store: Store, items: Catalogue | None = None, users: int = 6) -> Shop:
    shop = Shop(store, POLICIES, items=items, memory=100)
    for number in range(3):
        for user in range(users):
            shop.click(f"u{user}", place=number)
    return shop


def moved(shop: Shop, items: Catalogue) -> tuple[Shop, RelearnProgress]:
    done = relearn(shop.store, items, shop.experiment, lambda _done: None)
    return Shop(shop.store, POLICIES, items=items, clock=shop.clock, memory=100), done


def affinity(shop: Shop, user: str, truth: np.ndarray) -> float:
    """Return how well the learnt relevance predicts what the user likes."""
    policy = shop.experiment.policy_of(shop.user(user), shop.items)
    worth = shop.items.features @ policy.preferences.relevance
    return float(np.corrcoef(worth, truth)[0, 1])


def test_weights_mean_something_again(any_store: Store) -> None:
    """The demonstration of the fault: accepted silently, the affinity fell to nothing."""
    items = catalogue(200)
    truth = items.features @ np.array([1.0, -1.0, 0.5, 0.0])
    liked = {item: float(worth > 0.5) for item, worth in zip(items.ids, truth, strict=True)}
    shop = Shop(any_store, items=items, k=8)
    for _ in range(12):
        given = shop.give()
        shop.tell(given["slate_id"], {one["id"]: liked[one["id"]] for one in given["items"]})
    before = affinity(shop, "ann", truth)
    other = retrained(items)
    with pytest.raises(DataError, match="features of the same items differ"):
        Shop(any_store, items=other)
    policy = shop.experiment.policy_of(shop.user(), items)
    blind = float(np.corrcoef(other.features @ policy.preferences.relevance, truth)[0, 1])
    relearn(any_store, other, shop.experiment, lambda _done: None)
    later = Shop(any_store, items=other, k=8, clock=shop.clock)
    after = affinity(later, "ann", truth)
    assert before > 0.8
    assert blind < before - 0.3
    assert after > before - 0.05
    assert (later.check().wrong, later.check().largest) == ((), 0.0)


def test_every_list_has_the_features_of_the_new_catalogue(any_store: Store) -> None:
    shop = small_shop(any_store)
    later, done = moved(shop, retrained(shop.items))
    assert (done.users, done.lists, done.dropped) == (6, 18, 0)
    for user in range(6):
        for row in later.engine.history(f"u{user}", 10, None)["slates"]:
            kept = later.slate(row["slate_id"])
            slate = unpack_slate(kept)
            policy = later.experiment.new_policy(kept.policy, later.items)
            again = policy.as_slate(later.items.rows(slate.ids), slate.scores)
            np.testing.assert_array_equal(slate.relevance, again.relevance)
            np.testing.assert_array_equal(slate.coverage, again.coverage)
            assert kept.propensities is None
    assert (later.check().wrong, later.check().largest) == ((), 0.0)
    later.click("u0")
    assert (later.check().wrong, later.check().largest) == ((), 0.0)


def test_rows_are_found_again_by_their_ids(any_store: Store) -> None:
    shop = small_shop(any_store)
    shown = [one[0] for one in SeenItems(shop.user("u1").shown).entries()]
    ids = [shop.items.ids[row] for row in shown]
    order = np.random.default_rng(5).permutation(24)
    items = shop.items
    mixed = Catalogue(
        [items.ids[row] for row in order],
        items.features[order],
        ["cosine", *(h.among(order) for h in items.distances[1:])],
        feature_names=items.feature_names,
    )
    later, done = moved(shop, mixed)
    assert done.dropped == 0
    times = SeenItems(later.user("u1").shown).entries()
    assert [mixed.ids[row] for row, _ in times] == ids
    assert not set(later.ids("u1", k=8)) & set(ids)
    assert (later.check().wrong, later.check().largest) == ((), 0.0)


def test_lists_with_items_that_are_gone_teach_nothing(any_store: Store) -> None:
    shop = small_shop(any_store)
    open_list = shop.give("u0", candidates=("i20", "i21", "i22", "i23"), allow_repeats=True)
    smaller = shop.items.first(20)
    later, done = moved(shop, smaller)
    lists = [row for u in range(6) for row in later.engine.history(f"u{u}", 10, None)["slates"]]
    whole = [all(one["id"] in smaller.ids for one in row["items"]) for row in lists]
    assert (done.lists, done.dropped) == (sum(whole), len(whole) - sum(whole))
    assert done.dropped > 1
    result = later.tell(open_list["slate_id"], {"i20": 1.0})
    assert result["status"] == "late"
    assert (later.check().wrong, later.check().largest) == ((), 0.0)
    seen = [
        row for user in range(6) for row, _ in SeenItems(later.user(f"u{user}").shown).entries()
    ]
    assert max(seen) < 20
    # The ids of a list are kept, so the way back brings its features back as well.
    back, again = moved(later, shop.items)
    assert again.dropped == 0
    assert (back.check().wrong, back.check().largest) == ((), 0.0)
    again_shown = [i for u in range(6) for i, _ in SeenItems(back.user(f"u{u}").shown).entries()]
    assert set(seen) == {row for row in again_shown if row < 20}


def test_what_was_changed_at_run_time_goes_but_for_what_is_retired(any_store: Store) -> None:
    shop = small_shop(any_store)
    shop.snapshot(new_item("run1"), new_item("run2"), {"id": "i1", "title": "Changed"})
    shop.retire("i2")
    shop.retire("run1")
    shop.click("u0", candidates=("run2", "i5", "i6", "i7"), allow_repeats=True)
    items = retrained(shop.items)
    other = items.with_items(
        ["run1"],
        [[1.0] * 4],
        {h.name: h.among(np.array([0])) for h in items.distances[1:]},
    )
    later, done = moved(shop, other)
    assert done.dropped == 1
    with any_store.reading() as reader:
        snapshot, kept = later.engine.live.as_of(reader), reader.items()
        assert reader.priors() == {} or all(p.data is None for p in reader.priors().values())
    assert {row.id: (row.row, row.retired, row.data) for row in kept} == {
        "i2": (2, True, None),
        "run1": (24, True, None),
    }
    assert snapshot.catalogue.ids == other.ids
    assert later.engine.item("i1")["title"] == "Film 1"
    assert (later.check().wrong, later.check().largest) == ((), 0.0)


def test_priors_that_were_fitted_go(store: Store) -> None:
    shop = Shop(store, {"lmdp": "lmdp"}, prior_min_users=3)
    for user in range(8):
        shop.click(f"u{user}")
    shop.engine.priors.fit("lmdp")
    relearn(store, retrained(shop.items), shop.experiment, lambda _done: None)
    with store.reading() as reader:
        assert [row.data for row in reader.priors().values()] == [None]


def test_users_of_a_policy_that_is_gone_are_learnt_by_one_that_is_served(store: Store) -> None:
    shop = small_shop(store)
    other = retrained(shop.items)
    later = Shop(store, {"new": "c2ucb"})
    relearn(store, other, later.experiment, lambda _done: None)
    last = Shop(store, {"new": "c2ucb"}, items=other)
    assert {last.user(f"u{user}").policy for user in range(6)} == {"new"}
    assert (last.check().wrong, last.check().largest) == ((), 0.0)


_KILLED = """
import os, signal, sys
from variegate import Catalogue
from variegate.engine import Experiment
from variegate.engine.replay import relearn
from variegate.store import Store
url, file, *lines = sys.argv[1:]
experiment = Experiment(dict(line.split("=", 1) for line in lines))
with Store.open(url) as store:
    relearn(store, Catalogue.load(file), experiment, lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_it_goes_on_where_it_was_killed(kind: str, url_of: "object", tmp_path: Path) -> None:
    url: str = url_of(kind)  # type: ignore[operator]
    with Store.open(url) as store:
        shop = small_shop(store, users=30)
        other = retrained(shop.items)
        other.save(tmp_path / "other.npz")
        lines = [f"{name}={line}" for name, line in POLICIES.items()]
        run = [sys.executable, "-c", _KILLED, url, str(tmp_path / "other.npz"), *lines]
        killed = subprocess.run(run, capture_output=True, text=True, check=False)
        assert killed.returncode == -9, killed.stderr
        with store.reading() as reader:
            assert reader.meta(RELEARNING)
        seen: list[int] = []
        done = relearn(store, other, shop.experiment, seen.append)
        assert seen == [30]  # the first twenty were done
        assert (done.users, done.lists, done.dropped) == (30, 90, 0)
        later = Shop(store, POLICIES, items=other)
        assert (later.check().users, later.check().wrong) == (30, ())


def test_another_catalogue_can_be_taken_while_one_is_under_way(store: Store) -> None:
    shop = small_shop(store, users=30)

    def stop(_done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        relearn(store, shop.items.first(20), shop.experiment, stop)
    other = retrained(shop.items)
    done = relearn(store, other, shop.experiment, lambda _done: None)
    assert (done.users, done.lists, done.dropped) == (30, 90, 0)
    later = Shop(store, POLICIES, items=other)
    assert (later.check().wrong, later.check().largest) == ((), 0.0)
