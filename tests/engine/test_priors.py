"""What users begin with: fitted to those who were there before, while the service runs."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tests.engine.crowd import LMDP, MEAN, answer, fill, kiosk, kiosk_shop
from tests.engine.shop import Shop
from variegate.engine import priors
from variegate.errors import ConflictError, DataError, NotFoundError
from variegate.prior import default_prior
from variegate.store import PriorRow, Store


def means(view: dict[str, object]) -> dict[str, float]:
    return {one["name"]: one["mean"] for one in view["relevance"]}  # type: ignore[attr-defined]


class TestFit:
    def test_it_finds_what_most_users_want(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop, 100, lists=10)

        view = shop.engine.priors.fit("lmdp")

        found = means(view)
        # Drawn to the guess, by which features have 0 and the distance 0.35, by pseudo-users.
        assert found == {
            "mild": pytest.approx(MEAN[0], abs=0.13),
            "sweet": pytest.approx(MEAN[1], abs=0.13),
            "cold": pytest.approx(MEAN[2], abs=0.13),
        }
        assert found["sweet"] > found["cold"] > found["mild"]
        assert view["diversity"][0]["mean"] < 0.15
        assert (view["policy"], view["version"], view["users"]) == ("lmdp", 1, 100)
        assert view["fitted"].timestamp() == shop.clock.now
        assert view["words"][0] == "fitted to 100 users"

    def test_a_newcomers_first_list_changes_without_a_restart(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        before = shop.ids("first")

        shop.engine.priors.fit("lmdp")

        after = shop.ids("second")
        worth = shop.items.features @ MEAN
        assert after != before
        assert worth[shop.items.rows(after)].mean() > worth[shop.items.rows(before)].mean()

    def test_the_next_list_of_a_user_who_is_here_begins_with_it(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        shop.give("user 1")  # whose policy is kept from here on
        view = shop.engine.priors.fit("lmdp")
        with store.reading() as reader:
            snapshot = shop.engine.live.as_of(reader)
        policy = shop.experiment.as_of(snapshot).policy_of(shop.user("user 1"), shop.items)

        given = shop.ids("user 1", allow_repeats=True)

        assert given == list(policy.recommend(4).ids)
        assert policy.prior.users == view["users"]  # type: ignore[attr-defined]

    def test_every_process_sees_it(self, any_store: Store) -> None:
        one, two = kiosk_shop(any_store), kiosk_shop(any_store)
        fill(one)
        old = two.ids("first")

        view = one.engine.priors.fit("lmdp")

        assert two.ids("second") != old
        assert two.engine.priors.view("lmdp") == view
        assert kiosk_shop(any_store).engine.priors.view("lmdp") == view  # one that starts later

    def test_too_few_users_are_refused(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop, 39)
        shop.give("a newcomer without feedback")
        message = (
            r"at least 40 users with feedback, so that no single user is revealed, .* 'lmdp' has 39"
        )

        with pytest.raises(ConflictError, match=message):
            shop.engine.priors.fit("lmdp")

        assert shop.engine.priors.view("lmdp")["version"] == 0

    def test_states_stay_what_the_log_says(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        before = shop.user("user 3").state
        shop.engine.priors.fit("lmdp")
        assert shop.user("user 3").state == before

        fill(shop, 5)

        assert (shop.check().wrong, shop.check().largest) == ((), 0.0)

    def test_it_is_the_same_whatever_was_fitted_before(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        first = shop.engine.priors.fit("lmdp")

        again = shop.engine.priors.fit("lmdp")

        assert again == {**first, "version": 2}

    def test_who_was_forgotten_is_not_in_it(self, store: Store, opening: object) -> None:
        shop, other = kiosk_shop(store), kiosk_shop(opening("sqlite"))  # type: ignore[operator]
        fill(shop, 45)
        answer(shop, "odd one", np.array([0.9, 0.0, 0.0]), lists=3)
        fill(other, 45)
        with_odd_one = means(shop.engine.priors.fit("lmdp"))
        shop.forget("odd one")

        without = means(shop.engine.priors.fit("lmdp"))

        assert without == means(other.engine.priors.fit("lmdp"))
        assert without["mild"] < with_odd_one["mild"]

    def test_of_many_users_some_are_drawn(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop = kiosk_shop(store)
        fill(shop, 100, lists=1)
        monkeypatch.setattr(priors, "MAX_NUMBERS", 1)
        monkeypatch.setattr(priors, "PAGE", 7)

        view = shop.engine.priors.fit("lmdp")

        assert view["users"] == 80  # twice the least
        assert means(view)["sweet"] > means(view)["mild"]

    def test_feedback_meanwhile_loses_nothing(self, any_store: Store) -> None:
        shop, other = kiosk_shop(any_store), kiosk_shop(any_store)
        fill(shop)

        with ThreadPoolExecutor(1) as pool:
            going_on = pool.submit(fill, other, 30, first=100)
            versions = [shop.engine.priors.fit("lmdp")["version"] for _ in range(3)]
            going_on.result()

        assert versions == [1, 2, 3]
        assert len(shop.events()) == 2 * (45 + 30)
        assert (shop.check().users, shop.check().wrong) == (75, ())
        assert shop.engine.priors.fit("lmdp")["users"] == 75

    def test_who_comes_second_is_refused(self, any_store: Store) -> None:
        row = PriorRow("lmdp", data=b"one", users=50)
        with any_store.batch() as batch:
            batch.save_prior(row)

        with pytest.raises(ConflictError, match="changed since"), any_store.batch() as batch:
            batch.save_prior(row)

    def test_two_at_once_in_one_process_are_refused(self, store: Store) -> None:
        shop = kiosk_shop(store)
        with (
            shop.engine.priors._fitting,
            pytest.raises(ConflictError, match="a prior is being fitted"),
        ):
            shop.engine.priors.fit("lmdp")

    @pytest.mark.parametrize("line", ["lmdh:ridge=1", "c2ucb", "mmr"])
    def test_a_policy_without_a_prior_is_refused(self, store: Store, line: str) -> None:
        shop = kiosk_shop(store, {"it": line})
        for ask in (shop.engine.priors.view, shop.engine.priors.fit, shop.engine.priors.drop):
            with pytest.raises(
                ConflictError, match=r"policy 'it' .* has no prior that can be fitted to users"
            ):
                ask("it")

    def test_a_policy_that_nobody_serves_is_not_found(self, shop: Shop) -> None:
        with pytest.raises(NotFoundError, match="no policy 'other'"):
            shop.engine.priors.fit("other")


class TestLines:
    """What was fitted, beside the policy's spec."""

    def test_the_prior_of_the_line_counts_until_there_is_another(
        self, store: Store, tmp_path: object
    ) -> None:
        own = default_prior(kiosk(), variance=0.5)
        own.save(f"{tmp_path}/own.npz")
        shop = kiosk_shop(store, {"it": f"lmdp:prior={tmp_path}/own.npz"})
        before = shop.engine.priors.view("it")
        assert before["relevance"][0]["deviation"] == pytest.approx(np.sqrt(0.5))
        assert (before["version"], before["fitted"], before["users"]) == (0, None, 0)
        first = shop.ids("first")
        fill(shop)

        shop.engine.priors.fit("it")
        assert shop.engine.priors.view("it")["relevance"][0]["deviation"] < 0.5
        assert shop.engine.priors.drop("it") == {**before, "version": 2}
        assert shop.engine.priors.drop("it")["version"] == 2  # nothing was there to drop

        assert shop.ids("second") == first

    def test_a_line_without_a_prior_stays_without(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        shop.engine.priors.fit("lmdp")

        plain = kiosk_shop(store, {"lmdp": "lmdh:ridge=1,exploration=theory"})

        assert plain.ids("new") == list(
            plain.experiment.new_policy("lmdp", plain.items).recommend(4).ids
        )

    def test_items_can_change_under_it(self, store: Store) -> None:
        shop = kiosk_shop(store)
        fill(shop)
        view = shop.engine.priors.fit("lmdp")

        shop.snapshot({"id": "new", "features": [1.0, 1.0, 1.0]})

        assert shop.ids("somebody new")[0] == "new"
        assert shop.engine.priors.view("lmdp")["relevance"] == view["relevance"]

    def test_bytes_that_are_no_prior_are_not_served(self, store: Store) -> None:
        kiosk_shop(store)
        with store.batch() as batch:
            batch.save_prior(PriorRow("lmdp", data=b"no prior"))

        with pytest.raises(DataError, match="the prior of lmdp: not a"):
            kiosk_shop(store)


class TestSchedule:
    def test_one_of_two_processes_takes_the_turn(self, any_store: Store) -> None:
        one = kiosk_shop(any_store, prior_every_hours=2.0)
        two = kiosk_shop(any_store, prior_every_hours=2.0, clock=one.clock)
        fill(one)

        assert [one.engine.priors.fit_due(), two.engine.priors.fit_due()] == [["lmdp"], []]
        one.clock.now += 7100
        assert [one.engine.priors.fit_due(), two.engine.priors.fit_due()] == [[], []]
        one.clock.now += 200
        assert [two.engine.priors.fit_due(), one.engine.priors.fit_due()] == [["lmdp"], []]
        assert one.engine.priors.view("lmdp")["version"] == 2

    def test_too_few_users_wait_for_the_next_time(self, store: Store) -> None:
        shop = kiosk_shop(store, {"a": "lmdp", "b": "mmr"}, split={"a": 1.0}, prior_every_hours=1.0)
        assert shop.engine.priors.fit_due() == []
        fill(shop)
        assert shop.engine.priors.fit_due() == []
        shop.clock.now += 3600
        assert shop.engine.priors.fit_due() == ["a"]

    def test_a_started_desk_looks_by_itself(self, store: Store) -> None:
        shop = kiosk_shop(store, prior_every_hours=1e-5)
        fill(shop)
        shop.engine.start()
        try:
            views = (shop.engine.priors.view("lmdp") for _ in range(100_000))
            fitted = next(view for view in views if view["version"])
        finally:
            shop.engine.stop()
        assert fitted["users"] == 45


class TestDatabasesOfBefore:
    """Users of the former default, lmdh, under today's."""

    def test_they_are_served_with_all_that_they_taught(self, any_store: Store) -> None:
        old = kiosk_shop(any_store, {"lmdh": "lmdh:ridge=1,exploration=0.3"})
        answer(old, "ann", MEAN, lists=3)
        new = kiosk_shop(any_store, LMDP, clock=old.clock)
        view = new.engine.user("ann")

        given = new.give("ann")

        assert (view["policy"], given["policy"]) == ("lmdp", "lmdp")
        assert view["learnt"] == new.engine.user("ann")["learnt"]
        assert view["learnt"]["relevance"][1]["weight"] > 0
        assert (new.check().wrong, new.check().largest) == ((), 0.0)
        names = [(one["policy"], one["users"]) for one in new.engine.report()["policies"]]
        assert names == [("lmdp", 0), ("lmdh", 1)]

    def test_the_former_policy_is_a_line_away(self, store: Store) -> None:
        old = kiosk_shop(store, {"lmdh": "lmdh:ridge=1,exploration=0.3"})
        answer(old, "ann", MEAN, lists=3)
        state = old.user("ann").state
        both = kiosk_shop(
            store,
            {**LMDP, "lmdh": "lmdh:ridge=1,exploration=0.3"},
            split={"lmdp": 1.0},
            clock=old.clock,
        )

        assert (both.give("ann")["policy"], both.give("bob")["policy"]) == ("lmdh", "lmdp")
        assert both.user("ann").state == state
