"""The same training is not done twice."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.extras import needs
from variegate.data.bpr import cache_folder, fit_bpr
from variegate.data.dataset import Dataset
from variegate.data.embeddings import Embeddings, make_embeddings
from variegate.errors import DataError, MissingExtraError

pytestmark = needs("cornac")


@pytest.fixture
def fit(tastes: Dataset, tmp_path: Path) -> Callable[..., tuple[Embeddings, int]]:
    """Return the embeddings with a cache, and how many epochs were trained for them."""

    def counted(dataset: Dataset = tastes, **options: Any) -> tuple[Embeddings, int]:
        result: list[int] = []
        learnt = fit_bpr(
            dataset,
            **{"epochs": 3, **options},
            cache=tmp_path / "cache" / "below",
            progress=lambda done, _: result.append(done),
        )
        return learnt, len(result)

    return counted


def test_second_training_comes_from_the_cache(
    fit: Callable[..., tuple[Embeddings, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, trained = fit()
    monkeypatch.setitem(sys.modules, "cornac.models", None)
    second, trained_again = fit()
    assert (trained, trained_again) == (3, 0)
    assert second.vectors.tobytes() == first.vectors.tobytes()
    assert second.item_ids == first.item_ids
    assert second.settings == first.settings
    assert second.mean_user is not None
    assert first.mean_user is not None
    assert second.mean_user.tobytes() == first.mean_user.tobytes()


def test_another_normalisation_needs_no_training(
    fit: Callable[..., tuple[Embeddings, int]],
) -> None:
    fit()
    by_row, trained = fit(normalise="row")
    assert trained == 0
    assert by_row.settings["normalise"] == "row"
    np.testing.assert_allclose(np.linalg.norm(by_row.vectors, axis=1), 1.0)


@pytest.mark.parametrize(
    "options",
    [{"seed": 1}, {"d": 9}, {"learning_rate": 0.03}, {"regularisation": 0.0}, {"epochs": 4}],
    ids=str,
)
def test_other_settings_are_trained(
    fit: Callable[..., tuple[Embeddings, int]], options: dict[str, Any]
) -> None:
    fit()
    assert fit(**options)[1] == options.get("epochs", 3)


def test_other_pairs_are_trained(
    fit: Callable[..., tuple[Embeddings, int]], tastes: Dataset
) -> None:
    fit()
    fewer = replace(tastes, users=tastes.users[1:], items=tastes.items[1:])
    assert fit(fewer)[1] == 3


def test_other_item_ids_are_trained(
    fit: Callable[..., tuple[Embeddings, int]], tastes: Dataset
) -> None:
    fit()
    ids = tuple(f"new {item}" for item in tastes.item_ids)
    renamed, trained = fit(
        replace(tastes, item_ids=ids, item_table=replace(tastes.item_table, ids=ids))
    )
    assert trained == 3
    assert renamed.item_ids == ids[:-1]


def test_order_of_pairs_is_no_other_content(
    fit: Callable[..., tuple[Embeddings, int]], tastes: Dataset
) -> None:
    fit()
    assert fit(replace(tastes, users=tastes.users[::-1], items=tastes.items[::-1]))[1] == 0


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_something_else(path: Path) -> None:
    make_embeddings(["a"], [[1.0]]).save(path)


@pytest.mark.parametrize("spoil", [cut_off, emptied, of_something_else])
def test_broken_file_is_trained_again_and_replaced(
    fit: Callable[..., tuple[Embeddings, int]], tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    first, _ = fit()
    (kept,) = (tmp_path / "cache" / "below").iterdir()
    spoil(kept)
    second, trained = fit()
    assert trained == 3
    assert second.vectors.tobytes() == first.vectors.tobytes()
    assert fit()[1] == 0


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_interrupted_training_leaves_nothing(
    tastes: Dataset, tmp_path: Path, interruption: type[BaseException]
) -> None:
    def stop(done: int, epochs: int) -> None:
        raise interruption(f"{done} of {epochs}")

    with pytest.raises(interruption, match="1 of 3"):
        fit_bpr(tastes, epochs=3, cache=tmp_path, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_failed_training_leaves_nothing(tastes: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="diverged"):
        fit_bpr(tastes, epochs=20, learning_rate=1000.0, regularisation=1.0, cache=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_file_in_place_of_the_folder_is_reported_before_training(
    tastes: Dataset, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DataError, match=r"cache: cannot be used as a cache: File exists"):
        fit_bpr(tastes, cache=tmp_path / "cache", progress=lambda *_: pytest.fail("trained"))


def test_no_cache_keeps_nothing(
    tastes: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_CACHE", str(tmp_path))
    fit_bpr(tastes, epochs=1)
    assert list(tmp_path.iterdir()) == []


def test_environment_says_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VARIEGATE_CACHE", "kept/here")
    assert cache_folder() == Path("kept/here")


def test_user_has_a_cache_folder_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VARIEGATE_CACHE", raising=False)
    assert cache_folder().is_absolute()
    assert "variegate" in cache_folder().parts


def test_missing_platformdirs_is_reported_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VARIEGATE_CACHE", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(MissingExtraError, match=r"set VARIEGATE_CACHE\): pip install"):
        cache_folder()
