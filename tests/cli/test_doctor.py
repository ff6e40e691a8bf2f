"""`variegate doctor`: what it finds, and what it says to do."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.serving import Place
from variegate import Catalogue
from variegate.cli import commands
from variegate.engine.diagnosis import check_clock, check_keys, check_space
from variegate.engine.settings import Settings
from variegate.service.keys import make_key, new_key, revoke_key


def doctor(*flags: object) -> tuple[int, dict[str, str]]:
    """Return the exit status, and each check's line."""
    result = CliRunner().invoke(commands, ["doctor", *map(str, flags)])
    lines = [line.split(maxsplit=2) for line in result.stdout.splitlines()]
    return result.exit_code, {check: f"{level}: {rest}" for level, check, rest in lines}


def test_a_service_in_order_has_no_errors(named_place: Place) -> None:
    with named_place.shop() as shop:
        shop.click("ann")
        make_key(shop.store, "admin", "me")

    status, found = doctor()

    assert status == 0
    assert found["store"] == "ok: users: 1, slates: 1"
    assert found["items"] == "ok: the store belongs to this catalogue"
    assert found["keys"] == "ok: 1 admin"
    assert found["catalogue"].startswith("ok: 24 items; policies: ")
    assert found["clock"].startswith("ok: 0.")


def test_another_catalogue_and_a_missing_store_are_errors(
    named_place: Place, tmp_path: Path
) -> None:
    with named_place.shop() as shop:
        shop.click("ann")
    other = tmp_path / "other.npz"
    Catalogue(["x", "y"], [[1.0], [2.0]], "cosine").save(other)

    status, found = doctor("--catalogue", other)
    assert status == 1
    assert found["items"].startswith("error: ")
    assert found["items"].endswith("serve the catalogue of this store, or another store")
    assert found["keys"].startswith("warning: none: requests from this machine")

    status, found = doctor("--store", named_place.url("none"), "--catalogue", tmp_path / "no.npz")
    assert status == 1
    assert found["store"].endswith(
        "start the service once, which creates it, or correct the address"
    )
    assert found["catalogue"].startswith("error: ")


@pytest.mark.parametrize(
    ("roles", "host", "level", "words"),
    [
        ((), "0.0.0.0", "error", "the service refuses to start"),  # noqa: S104
        (("admin",), "127.0.0.1", "ok", "1 admin"),
        (("write", "read", "read"), "127.0.0.1", "warning", "no admin key"),
    ],
)
def test_keys_are_judged_by_who_can_reach_the_service(
    roles: tuple[str, ...], host: str, level: str, words: str
) -> None:
    keys = [new_key(role, "x", now=0.0)[1] for role in roles]
    found = check_keys(keys, Settings(host=host))

    assert found.level == level
    assert words in found.found


def test_revoked_keys_alone_admit_nobody(named_place: Place) -> None:
    with named_place.shop() as shop:
        revoke_key(shop.store, make_key(shop.store, "admin", "me")[1].id)

    status, found = doctor()

    assert status == 1
    assert found["keys"] == "error: all are revoked: variegate keys make --role admin"


def test_a_clock_that_differs_and_a_full_disk_are_named() -> None:
    late = check_clock(0.0)
    assert late.level == "warning"
    assert "ahead of the database's" in late.found
    levels = [check_space("the store", free).level for free in (10**8, 10**9, 10**10)]
    assert levels == ["error", "warning", "ok"]
