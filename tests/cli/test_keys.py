"""`variegate keys`: make, list, revoke."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import fail, run
from variegate.cli import commands
from variegate.service.keys import KeyCache
from variegate.store import Store


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the store that the environment names."""
    address = f"sqlite:///{tmp_path}/keys.db"
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)
    monkeypatch.setenv("VARIEGATE_STORE", address)
    monkeypatch.setenv("COLUMNS", "100")
    return address


def made(*words: str) -> str:
    result = CliRunner().invoke(commands, ["keys", "make", *words])
    assert result.exit_code == 0, result.output
    assert "cannot be shown again" in result.stderr
    return result.stdout.strip()


def test_made_key_opens_the_service(url: str) -> None:
    key = made("--role", "admin", "--name", "me")

    with Store.open(url) as store:
        ring = KeyCache(store)
        ring.load()
    row = ring.check(key)
    assert row is not None
    assert (row.role, row.name) == ("admin", "me")


def test_list_shows_keys_and_no_secret(url: str) -> None:
    assert run("keys", "list") == "No keys yet: create one with `variegate keys make --name me`.\n"
    key = made("--name", "shop")
    _, own_id, secret = key.split("_")

    listed = run("keys", "list", "--store", url)

    assert listed.splitlines()[0].split() == ["id", "role", "name", "created", "revoked"]
    assert listed.splitlines()[1].split()[:3] == [own_id, "write", "shop"]
    assert secret not in listed


def test_revoked_key_is_shown_as_such(url: str) -> None:
    own_id = made("--name", "shop").split("_")[1]

    assert run("keys", "revoke", own_id) == f"Key {own_id} (write, shop) is revoked.\n"

    assert len(run("keys", "list", "--store", url).splitlines()[1].split()) == 5


@pytest.mark.usefixtures("url")
def test_revoking_a_key_that_is_not_there() -> None:
    assert fail("keys", "revoke", "nope") == "no key has the id 'nope': see `variegate keys list`"


@pytest.mark.usefixtures("url")
def test_role_that_is_none() -> None:
    message = fail("keys", "make", "--role", "writ", "--name", "x")

    assert message == "`role` must be one of read, write, admin, got 'writ': did you mean 'write'?"


def test_store_of_a_settings_file(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VARIEGATE_STORE")
    (tmp_path / "service.toml").write_text(f'store = "{url}"\n', encoding="utf-8")

    made("--name", "x", "--config", str(tmp_path / "service.toml"))

    assert len(run("keys", "list", "--store", url).splitlines()) == 2
