"""Lists for all users of a service: those that the service would give, and nothing is stored."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.cli.running import fail, run
from tests.cli.serving import placed
from tests.engine.shop import LMDH, Shop, catalogue
from variegate.batch import BatchResult
from variegate.batch.states import recommend_all_states
from variegate.errors import InputError
from variegate.store import Store

USERS = [f"u{number}" for number in range(9)]
POLICIES = {**LMDH, "lmdp": "lmdp"}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Return a shop whose users of two policies have had two lists; one item is retired."""
    with Store.open(f"sqlite:///{tmp_path}/shop.db?durability=normal") as store:
        shop = Shop(store, POLICIES)
        for user in USERS:
            shop.click(user)
            shop.click(user, 2)
        shop.retire("i5")
        yield shop


def lists(out: Path) -> dict[str, list[str]]:
    frame = pl.read_parquet(out)
    return dict(zip(frame["user"], frame["items"].to_list(), strict=True))


@pytest.mark.parametrize(("workers", "part_users"), [(1, 100), (2, 4)])
def test_each_list_is_the_next_of_the_service(
    shop: Shop, tmp_path: Path, workers: int, part_users: int
) -> None:
    before = shop.exported()

    found = recommend_all_states(
        shop.executor, tmp_path / "out", k=4, workers=workers, part_users=part_users
    )

    assert found == BatchResult(users=9, made=9, unknown_items=0)
    assert shop.exported() == before
    assert {shop.user(user).policy for user in USERS} == set(POLICIES)
    assert lists(tmp_path / "out") == {user: shop.ids(user) for user in USERS}


def test_an_interrupted_run_goes_on_where_it_stopped(shop: Shop, tmp_path: Path) -> None:
    out = tmp_path / "out"
    recommend_all_states(shop.executor, out, part_users=4)
    whole = lists(out)
    (out / "part-00002.parquet").unlink()

    found = recommend_all_states(shop.executor, out, part_users=4)

    assert (found.users, found.made) == (9, 1)
    assert lists(out) == whole


def test_users_who_have_seen_all_items_get_none_unless_repeats_are_allowed(
    tmp_path: Path,
) -> None:
    with Store.open(f"sqlite:///{tmp_path}/small.db?durability=normal") as store:
        shop = Shop(store, items=catalogue(6))
        shop.give(k=6)

        recommend_all_states(shop.executor, tmp_path / "out", k=4)
        recommend_all_states(shop.executor, tmp_path / "again", k=4, allow_repeats=True)

    assert lists(tmp_path / "out") == {"ann": []}
    assert len(lists(tmp_path / "again")["ann"]) == 4


def test_a_folder_of_a_run_before_items_changed_is_refused(shop: Shop, tmp_path: Path) -> None:
    recommend_all_states(shop.executor, tmp_path / "out")
    shop.retire("i6")

    with pytest.raises(InputError, match="was begun with another revision"):
        recommend_all_states(shop.executor, tmp_path / "out")


@pytest.mark.usefixtures("shop")
def test_the_command_reads_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = placed(tmp_path)
    monkeypatch.setenv("VARIEGATE_POLICIES", json.dumps(POLICIES))
    service = ["--store", place.url(), "--catalogue", place.catalogue]

    printed = run("recommend-all", *service, "--out", tmp_path / "out", "--workers", 1)

    assert "9 lists made" in printed
    assert sorted(lists(tmp_path / "out")) == USERS
    given = fail("recommend-all", *service, "--users", "clicks.csv", "--out", tmp_path / "new")
    assert given == "give --users with --catalogue, or --store without --policy"
    assert fail("recommend-all", "--users", "clicks.csv", "--out", "new") == (
        "`--catalogue` is needed with --users"
    )
