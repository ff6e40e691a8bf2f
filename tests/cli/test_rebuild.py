"""`variegate rebuild`: the log is the truth."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import fail, run
from tests.cli.serving import Place
from tests.engine.shop import LMDH
from tests.engine.test_catalogue import retrained
from variegate import Catalogue
from variegate.policies import State


@pytest.fixture
def place(named_place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return a place with three users who have learnt."""
    monkeypatch.setenv("VARIEGATE_POLICIES", json.dumps(LMDH))
    with named_place.shop() as shop:
        for user in ("ann", "bob", "cyd"):
            shop.click(user)
            shop.click(user, 2)
    return named_place


def spoil(place: Place, user: str, by: float) -> bytes:
    """Change a number of a user's state, and return the state as it was."""
    with place.shop() as shop, shop.store.batch() as batch:
        row = batch.lock_users([user])[user]
        assert row.state is not None
        state = State.from_bytes(row.state)
        name = min(state.arrays)
        arrays = {**state.arrays, name: np.array(state.arrays[name])}
        arrays[name].flat[0] += by
        batch.save_users(
            [row._replace(state=State(state.policy, arrays, state.version).to_bytes())]
        )
    return row.state


def test_states_as_the_log_has_them_are_left_alone(place: Place) -> None:
    with place.shop() as shop:
        before = shop.user("ann")

    assert run("rebuild", "--check") == "All states match the log: 3 users.\n"
    assert run("rebuild") == "All states match the log: 3 users.\n"

    with place.shop() as shop:
        assert shop.user("ann") == before


def test_check_tells_what_differs_and_changes_nothing(place: Place) -> None:
    spoil(place, "bob", 0.25)
    with place.shop() as shop:
        before = shop.user("bob")

    message = fail("rebuild", "--check")

    assert message == (
        "1 of 3 states differ from the log, by up to 0.25: run `variegate rebuild` to correct them"
    )
    with place.shop() as shop:
        assert shop.user("bob") == before


def test_what_differs_is_put_right(place: Place) -> None:
    right = {user: spoil(place, user, 0.5) for user in ("ann", "cyd")}

    result = run("rebuild")

    assert result == ("2 of 3 states differ from the log, by up to 0.5: corrected.\n")
    with place.shop() as shop:
        assert {user: shop.user(user).state for user in right} == right
        assert shop.check().wrong == ()


def test_store_that_is_not_there_is_not_made(place: Place) -> None:
    message = fail("rebuild", "--store", place.url("none"))

    assert "none.db" in message
    assert not (place.folder / "none.db").exists()


@pytest.mark.usefixtures("place")
def test_another_catalogue_is_refused(tmp_path: Path) -> None:
    from tests.engine.shop import catalogue

    catalogue(5).save(tmp_path / "other.npz")

    message = fail("rebuild", "--catalogue", tmp_path / "other.npz")

    assert message.startswith("the store was made for another catalogue than Catalogue(5 items,")
    assert "19 items are gone: it has 5, and there were 24" in message


@pytest.fixture
def other(place: Place) -> Path:
    """Write a catalogue of the same items and names on other features."""
    path = place.folder / "other.npz"
    retrained(Catalogue.load(place.catalogue)).save(path)
    return path


def test_every_user_is_learnt_again_for_another_catalogue(place: Place, other: Path) -> None:
    message = fail("rebuild", "--check", "--catalogue", other)
    assert "features of the same items differ" in message
    assert "`variegate rebuild --relearn`" in message

    result = run("rebuild", "--relearn", "--catalogue", other)

    assert result == "3 users relearnt from 6 lists.\n"
    assert run("rebuild", "--check", "--catalogue", other) == "All states match the log: 3 users.\n"
    assert "made for another catalogue" in fail("rebuild", "--check")
    with place.shop(items=Catalogue.load(other)) as shop:
        shop.click("ann")
        assert shop.check().wrong == ()


def test_lists_with_items_that_are_gone_are_counted(place: Place) -> None:
    path = place.folder / "few.npz"
    Catalogue.load(place.catalogue).first(8).save(path)

    result = run("rebuild", "--relearn", "--catalogue", path)

    assert re.fullmatch(
        r"3 users relearnt from \d lists; \d lists with missing items are ignored\.\n",
        result,
    )
    assert run("rebuild", "--check", "--catalogue", path) == "All states match the log: 3 users.\n"


def test_a_catalogue_that_means_the_same_is_accepted(place: Place, other: Path) -> None:
    with place.shop() as shop:
        before = shop.user("ann")

    result = run("rebuild", "--accept", "--catalogue", other)

    assert result == "The store now belongs to this catalogue; user states are unchanged.\n"
    assert run("rebuild", "--accept", "--catalogue", other).endswith(
        "already belongs to this catalogue.\n"
    )
    with place.shop(items=Catalogue.load(other)) as shop:
        assert shop.user("ann") == before


def test_a_catalogue_of_other_items_is_not_accepted(place: Place) -> None:
    path = place.folder / "few.npz"
    Catalogue.load(place.catalogue).first(8).save(path)

    assert "16 items are gone" in fail("rebuild", "--accept", "--catalogue", path)


@pytest.mark.usefixtures("place")
def test_one_thing_at_a_time() -> None:
    assert "mutually exclusive" in fail("rebuild", "--check", "--relearn")


def test_sums_that_differ_are_found_and_put_right(place: Place) -> None:
    with place.shop() as shop:
        before = shop.engine.report()
        with shop.store._database.writing() as transaction:
            transaction.change("DELETE FROM user_sums")
            transaction.change("UPDATE sums SET sums = '{}'")

    message = fail("rebuild", "--check")
    assert (
        "running sums differ from the history: run `variegate rebuild` to correct them" in message
    )
    assert "running sums differ from the history: corrected" in run("rebuild")
    assert run("rebuild", "--check") == "All states match the log: 3 users.\n"
    with place.shop() as shop:
        assert shop.engine.report() == before
