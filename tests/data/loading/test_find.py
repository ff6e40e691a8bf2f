"""Where data sets are looked for."""

import sys
from pathlib import Path

import pytest

from variegate.data.download import DATASETS, data_folder, find_dataset
from variegate.errors import DataError, MissingExtraError


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Return the folder of VARIEGATE_DATA and the user's own."""
    chosen, own = tmp_path / "chosen", tmp_path / "own"
    chosen.mkdir()
    own.mkdir()
    monkeypatch.setenv("VARIEGATE_DATA", str(chosen))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(own))
    return chosen, own


def test_chosen_folder_comes_before_the_users_own(homes: tuple[Path, Path]) -> None:
    chosen, own = homes
    (own / "ml-1m.zip").write_bytes(b"")
    assert find_dataset("ml-1m") == own / "ml-1m.zip"
    (chosen / "ml-1m.zip").write_bytes(b"")
    assert find_dataset("ml-1m") == chosen / "ml-1m.zip"


def test_data_folder_is_the_users_own_unless_chosen(
    homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_folder() == homes[0]
    monkeypatch.delenv("VARIEGATE_DATA")
    assert data_folder() == homes[1]


@pytest.mark.parametrize("inside", ["ml-100k", "."])
def test_unpacked_folder_is_found(inside: str, homes: tuple[Path, Path]) -> None:
    folder = homes[0] / inside
    folder.mkdir(exist_ok=True)
    (folder / "u.data").write_text("")
    (folder / "u.item").write_text("")
    assert find_dataset("ml-100k") == folder


def test_anime_is_found_by_the_name_kaggle_gives_it(homes: tuple[Path, Path]) -> None:
    (homes[0] / "anime-recommendations-database.zip").write_bytes(b"")
    assert find_dataset("anime") == homes[0] / "anime-recommendations-database.zip"


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.usefixtures("homes")
def test_what_is_not_there_comes_with_advice(name: str) -> None:
    with pytest.raises(DataError, match=rf"^{name} is not in .*chosen: .* as .*chosen/{name}\.zip"):
        find_dataset(name)


def test_without_platformdirs_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VARIEGATE_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(MissingExtraError, match=r"variegate\[data\]', or set VARIEGATE_DATA"):
        data_folder()
