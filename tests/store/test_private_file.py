"""The file of SQLite, which holds what was learnt of people, is its owner's alone."""

import os
from pathlib import Path

import pytest

from variegate.store import Store


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_new_files_are_private(
    tmp_path: Path, umask: int, caplog: pytest.LogCaptureFixture
) -> None:
    before = os.umask(umask)
    try:
        with Store.open(f"sqlite:///{tmp_path}/new.db") as store:
            store.ping()
            found = modes(tmp_path)
    finally:
        os.umask(before)

    assert found == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), "0o600")
    assert caplog.messages == []


def test_file_that_others_can_read_keeps_its_mode_and_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "old.db"
    Store.open(f"sqlite:///{path}").close()
    path.chmod(0o644)

    Store.open(f"sqlite:///{path}").close()

    assert modes(tmp_path)["old.db"] == "0o644"
    (message,) = caplog.messages
    assert "chmod 600" in message
