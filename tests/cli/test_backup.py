"""`variegate backup` and `restore`: out of one service and into another."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import fail, run
from tests.cli.serving import Place
from variegate.cli import commands
from variegate.engine import import_plan
from variegate.engine.executor import Executor
from variegate.engine.import_commands import ImportUsers
from variegate.engine.queue import CommandResult
from variegate.errors import ConflictError
from variegate.service.keys import list_keys, make_key, revoke_key
from variegate.store import Batch, Store

USERS = ("ann", "bob", "cyd")


@pytest.fixture
def place(named_place: Place) -> Place:
    """Return a place with three users."""
    with named_place.shop() as shop:
        for user in USERS:
            shop.click(user)
            shop.give(user)
    return named_place


@pytest.fixture
def file(place: Place) -> Path:
    """Return the three users as a file."""
    path = place.folder / "users.jsonl"
    assert run("backup", "--out", path) == "3 users written.\n"
    return path


def lines_of(place: Place, name: str = "shop") -> list[dict[str, object]]:
    with place.shop(name) as shop:
        return shop.exported()


def ids_of(place: Place, name: str) -> list[object]:
    return [line["user"] for line in lines_of(place, name) if line["kind"] == "user"]


def changed(file: Path, line: int, **values: object) -> Path:
    """Change values in a line (from 1) of a file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps({**json.loads(lines[line - 1]), **values})
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_export_prints_users_alone(place: Place) -> None:
    result = CliRunner().invoke(commands, ["backup"])

    assert [json.loads(line) for line in result.stdout.splitlines()[1:]] == lines_of(place)[1:]
    assert result.stderr == "3 users written.\n"


def test_file_can_be_read_by_its_owner_only(place: Place, tmp_path: Path) -> None:
    written = tmp_path / "backup.jsonl"
    written.write_text("of before")
    written.chmod(0o644)

    run("backup", "--store", place.url(), "--out", written)

    assert written.stat().st_mode & 0o777 == 0o600
    assert [name.name for name in tmp_path.glob(".backup*")] == []


def test_users_come_out_as_they_went_in(place: Place, file: Path) -> None:
    output = run("restore", file, "--store", place.url("new"))

    assert output == "3 users restored.\n"
    assert lines_of(place, "new") == lines_of(place)
    with place.shop("new") as shop:
        assert shop.check().wrong == ()


def test_users_that_are_there_are_refused_and_nothing_is_changed(place: Place, file: Path) -> None:
    with place.shop("other") as shop:
        shop.click("cyd")

    message = fail("restore", file, "--store", place.url("other"))

    assert message.startswith(f"{file}:4: user 'cyd' exists with other content: ")
    assert ids_of(place, "other") == ["cyd"]


def test_users_that_are_there_can_be_replaced(place: Place, file: Path) -> None:
    with place.shop("other") as shop:
        shop.click("cyd")

    run("restore", file, "--replace", "--store", place.url("other"))

    assert lines_of(place, "other") == lines_of(place)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"variegate": 3}, "`variegate` must be 1 or 2, got '3'"),
        ({"slates": -1}, "`slates` must be greater than or equal to 0, got -1"),
        ({"user": "ann"}, "user 'ann' is in line 2 too"),
        ({"shown": [["nothing", 1]]}, "`shown`: "),
        ({"kind": "history"}, "`"),
    ],
)
def test_broken_line_is_named_and_nothing_is_taken(
    place: Place, file: Path, values: dict[str, object], words: str
) -> None:
    message = fail("restore", changed(file, 3, **values), "--store", place.url("new"))

    assert message.startswith(f"{file}:3: {words}")
    assert ids_of(place, "new") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense\n", "must be a line of JSON as in an export"),
        (b"[1]\n", "must be an object, got list"),
        (b"\xff\n", "must be a line of JSON as in an export"),
        (b"[" * 100_000 + b"\n", "must be a line of JSON as in an export"),
    ],
    ids=["no JSON", "no object", "no text", "deep"],
)
def test_line_that_is_no_user_is_named(place: Place, file: Path, line: bytes, words: str) -> None:
    file.write_bytes(file.read_bytes() + b"\n" + line)

    assert fail("restore", file, "--store", place.url("new")) == f"{file}:6: {words}"
    assert ids_of(place, "new") == []


def test_what_fails_late_says_what_is_in_and_is_finished_later(
    place: Place, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_plan, "_COMMAND_ENTRIES", 2)
    take = ImportUsers.apply_alone

    def beaten(piece: ImportUsers, batch: Batch, executor: Executor) -> CommandResult:
        if piece.entries[0].name == "cyd":  # somebody is quicker, once all was checked
            monkeypatch.setattr(ImportUsers, "apply_alone", take)
            raise ConflictError("user 'cyd' came in another way")
        return take(piece, batch, executor)

    monkeypatch.setattr(ImportUsers, "apply_alone", beaten)
    message = fail("restore", file, "--store", place.url("new"))

    assert message == (
        "user 'cyd' came in another way (2 users are imported: send the same again to continue)"
    )
    assert ids_of(place, "new") == ["ann", "bob"]
    assert run("restore", file, "--store", place.url("new")) == "3 users restored.\n"
    assert lines_of(place, "new") == lines_of(place)


def test_import_works_while_a_service_runs(place: Place, file: Path) -> None:
    with place.shop("running") as shop:
        shop.click("dan")

        run("restore", file, "--store", place.url("running"))

        assert shop.user("ann").slates == 2
        assert shop.click("ann")["user"] == "ann"
        assert shop.check().wrong == ()


def test_file_that_is_not_there(place: Place) -> None:
    message = fail("restore", "none.jsonl", "--store", place.url())

    assert message == "none.jsonl: cannot be read: No such file or directory"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_backup_restores_users_and_keys_into_a_store_of_either_kind(
    place: Place, kind: str, request: pytest.FixtureRequest
) -> None:
    url = place.url("new")
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    with place.shop() as shop:
        made = [make_key(shop.store, role, role)[1] for role in ("read", "admin")]
        revoke_key(shop.store, made[0].id)
        revoked, kept = list_keys(shop.store)
    path, again = place.folder / "backup.jsonl", place.folder / "again.jsonl"
    run("backup", "--out", path)

    run("restore", path, "--store", url)

    run("backup", "--out", again, "--store", url)
    assert path.read_text().splitlines()[1:] == again.read_text().splitlines()[1:]
    with Store.open(url) as store:
        assert list_keys(store) == [revoked, kept]
        assert revoked.revoked is not None
    # Once more changes nothing: a key that was revoked meanwhile stays so.
    with Store.open(url) as store:
        revoke_key(store, kept.id)
        run("restore", path, "--store", url)
        assert all(row.revoked for row in list_keys(store))


def test_keys_can_be_left_out_and_must_not_contradict(place: Place) -> None:
    path = place.folder / "backup.jsonl"
    with place.shop() as shop:
        _, key = make_key(shop.store, "write", "shop")
    run("backup", "--out", path, "--without-keys")
    assert '"kind":"key"' not in path.read_text()

    run("backup", "--out", path)
    path.write_text(path.read_text().replace(key.hash, "0" * 64))

    assert f"key '{key.id}' exists with another secret" in fail("restore", path)
