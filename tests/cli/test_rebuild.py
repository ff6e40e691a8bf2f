"""`variegate rebuild`: the log is the truth."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import fail, run
from tests.cli.serving import Place, placed
from tests.service.desk.shop import LMDH
from variegate.policies import State


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Let the environment name a store with three users who have learnt, and its catalogue."""
    found = placed(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)
    monkeypatch.setenv("VARIEGATE_STORE", found.url())
    monkeypatch.setenv("VARIEGATE_CATALOGUE", found.catalogue)
    monkeypatch.setenv("VARIEGATE_POLICIES", json.dumps(LMDH))
    with found.shop() as shop:
        for user in ("ann", "bob", "cyd"):
            shop.click(user)
            shop.click(user, 2)
    return found


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

    assert run("rebuild", "--check") == "All 3 states are what the log says.\n"
    assert run("rebuild") == "All 3 states are what the log says.\n"

    with place.shop() as shop:
        assert shop.user("ann") == before


def test_check_tells_what_differs_and_changes_nothing(place: Place) -> None:
    spoil(place, "bob", 0.25)
    with place.shop() as shop:
        before = shop.user("bob")

    message = fail("rebuild", "--check")

    assert message == (
        "1 of 3 states differ from the log, by up to 0.25: `variegate rebuild` puts them right"
    )
    with place.shop() as shop:
        assert shop.user("bob") == before


def test_what_differs_is_put_right(place: Place) -> None:
    right = {user: spoil(place, user, 0.5) for user in ("ann", "cyd")}

    told = run("rebuild")

    assert told == (
        "2 of 3 states differ from the log, by up to 0.5: they are now what the log says.\n"
    )
    with place.shop() as shop:
        assert {user: shop.user(user).state for user in right} == right
        assert shop.check().wrong == ()


def test_store_that_is_not_there_is_not_made(place: Place) -> None:
    message = fail("rebuild", "--store", place.url("none"))

    assert "none.db" in message
    assert not (place.folder / "none.db").exists()


@pytest.mark.usefixtures("place")
def test_another_catalogue_is_refused(tmp_path: Path) -> None:
    from tests.service.desk.shop import catalogue

    catalogue(5).save(tmp_path / "other.npz")

    message = fail("rebuild", "--catalogue", tmp_path / "other.npz")

    assert message.startswith("the store was made for another catalogue (24 items, distances:")


def test_sums_that_differ_are_found_and_put_right(place: Place) -> None:
    with place.shop() as shop:
        before = shop.desk.comparison()
        with shop.store._database.writing() as transaction:
            transaction.change("DELETE FROM user_sums")
            transaction.change("UPDATE sums SET sums = '{}'")

    message = fail("rebuild", "--check")
    assert "running sums differ from the history: `variegate rebuild` puts them right" in message
    assert "running sums differ from the history: they are now" in run("rebuild")
    assert run("rebuild", "--check") == "All 3 states are what the log says.\n"
    with place.shop() as shop:
        assert shop.desk.comparison() == before
