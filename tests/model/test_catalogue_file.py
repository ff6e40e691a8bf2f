"""A catalogue as a file: bit for bit the same, or a clear error and the old file."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from variegate import Catalogue
from variegate.arrays import FloatArray
from variegate.errors import DataError, InputError
from variegate.model.distances import (
    angular,
    cosine,
    custom,
    difference,
    euclidean,
    hamming,
    jaccard,
)


def city_block(point: FloatArray, points: FloatArray) -> FloatArray:
    return np.asarray(np.abs(points - point).sum(axis=1))


def everything() -> Catalogue:
    """Return a catalogue with each kind of distance, on features and on data of its own."""
    rng = np.random.default_rng(5)
    return Catalogue(
        ["1", "naïve", "三"],
        rng.normal(size=(3, 2)) / 3.0,
        [
            "cosine",
            angular(rng.normal(size=(3, 4)), name="angle of plots"),
            euclidean(scale=0.3),
            cosine(rng.normal(size=(3, 5)), name="likeness of posters"),
            difference([1990, 2001, 2024], name="year"),
            hamming(["fr", "日本", "fr"], name="country"),
            jaccard([{"drama"}, set(), {"drama", "noir"}], name="genres"),
            custom(city_block, name="blocks", largest=7.5, is_metric=True),
            custom(city_block, rng.normal(size=(3, 1)), name="own blocks", largest=3.0),
        ],
        ["One", "Amélie 🎬", "七人の侍"],
        {"year": [1990, None, 2024], "genres": [["drama"], [], ["a", "b"]], "mean": [0.1, 0, 1e-9]},
        feature_names=["π", "e"],
        mean_user=rng.normal(size=2),
        feature_scale=1.7,
    )


FUNCTIONS = {"blocks": city_block, "own blocks": city_block}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "films.catalogue"
    everything().save(path)
    return path


def test_it_comes_back_bit_for_bit(saved: Path) -> None:
    before, after = everything(), Catalogue.load(saved, functions=FUNCTIONS)

    assert repr(after) == repr(before)
    assert (after.ids, after.titles) == (before.ids, before.titles)
    assert dict(after.attributes) == dict(before.attributes)
    assert (after.feature_names, after.feature_scale) == (("π", "e"), 1.7)
    assert before.mean_user is not None
    assert after.mean_user is not None
    np.testing.assert_array_equal(after.mean_user, before.mean_user)
    np.testing.assert_array_equal(after.features, before.features)


@pytest.mark.parametrize("number", range(9))
def test_its_distances_come_back_bit_for_bit(saved: Path, number: int) -> None:
    before = everything().distances[number]
    after = Catalogue.load(saved, functions=FUNCTIONS).distances[number]

    np.testing.assert_array_equal(after.matrix(), before.matrix())
    np.testing.assert_array_equal(after.rows, before.rows)
    assert (after.name, after.is_metric) == (before.name, before.is_metric)
    assert (after.largest, after.labels) == (before.largest, before.labels)
    assert after.on_features == before.on_features


def test_a_catalogue_that_came_back_can_be_saved_and_grown(saved: Path, tmp_path: Path) -> None:
    once = Catalogue.load(saved, functions=FUNCTIONS)
    once.save(tmp_path / "again")
    twice = Catalogue.load(tmp_path / "again", functions=FUNCTIONS)
    own = {h.name: h.among(np.array([0])) for h in twice.distances if not h.on_features}

    grown = twice.with_items(["new"], twice.features[:1], own)

    np.testing.assert_array_equal(twice.distances[3].rows, everything().distances[3].rows)
    assert len(grown) == 4


def test_an_unlabelled_catalogue_comes_back(tmp_path: Path) -> None:
    Catalogue(["a"], [[1.0]], []).save(tmp_path / "small.npz")

    after = Catalogue.load(str(tmp_path / "small.npz"))

    assert (after.m, after.mean_user, after.titles) == (0, None, ("a",))


def test_numpy_reads_it_without_pickle(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        kinds = {arrays[name].dtype.kind for name in arrays.files}

    assert kinds == {"f", "u"}


@pytest.mark.parametrize("functions", [None, {"blocks": city_block}])
def test_the_functions_of_custom_distances_are_asked_for(saved: Path, functions: Any) -> None:
    with pytest.raises(InputError, match=r"`functions` must hold the function of .* '(own )?bl"):
        Catalogue.load(saved, functions=functions)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no catalogue at .*missing\.npz"):
        Catalogue.load(tmp_path / "missing.npz")


def test_a_folder_is_no_catalogue(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not a complete catalogue file"):
        Catalogue.load(tmp_path)


def plain_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.eye(2))


def with_pickle(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, header=np.array([{"format": "variegate catalogue"}], dtype=object))


def bare_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "nothing here")


def headed(header: Any, **arrays: FloatArray) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, header=text, **arrays)

    return write


RIGHT = {"format": "variegate catalogue", "version": 1}


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: path.write_bytes(b""), r"not a complete catalogue file"),
        (lambda path: path.write_bytes(b"garbage" * 9), r"not a complete catalogue file"),
        (lambda path: path.write_bytes(b"PK\x03\x04garbage"), r"not a complete catalogue file"),
        (plain_array, r"not a complete catalogue file"),
        (with_pickle, r"not a complete catalogue file"),
        (bare_zip, r"not a complete catalogue file"),
        (headed([1, 2]), r"not a complete catalogue file"),
        (headed({"format": "variegate data"}), r"not a file of variegate.s catalogue format"),
        (headed({**RIGHT, "version": 2}), r"version 2 of the catalogue format, and this .* 1: b"),
        (headed(RIGHT), r"not a complete catalogue file"),
        (headed({**RIGHT, "distances": []}, features=np.eye(2)), r"not a complete catalogue file"),
        (
            headed(
                {**RIGHT, "distances": [{"name": "x", "kind": "manhattan"}]}, features=np.eye(2)
            ),
            r"not a complete catalogue file",
        ),
    ],
)
def test_a_file_that_is_no_catalogue(
    tmp_path: Path, write: Callable[[Path], None], words: str
) -> None:
    path = tmp_path / "wrong.npz"
    write(path)

    with pytest.raises(DataError, match=rf"wrong\.npz: {words}"):
        Catalogue.load(path)


def loads(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    try:
        Catalogue.load(path, functions=FUNCTIONS)
    except DataError:
        return False
    return True


def test_a_file_cut_off_anywhere_is_no_catalogue(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    cuts = range(0, len(whole), 61)

    assert loads(whole, tmp_path / "cut")
    assert not any(loads(whole[:length], tmp_path / "cut") for length in cuts)


def test_a_file_with_a_changed_byte_is_noticed(saved: Path, tmp_path: Path) -> None:
    whole = bytearray(saved.read_bytes())
    whole[len(whole) // 3] ^= 0xFF

    assert not loads(bytes(whole), tmp_path / "changed")


def test_a_failed_save_leaves_the_old_file_and_no_litter(saved: Path) -> None:
    before = saved.read_bytes()
    unwritable = Catalogue(["a"], [[1.0]], [], attributes={"cover": [object()]})

    with pytest.raises(InputError, match=r"`attributes` must be text, numbers, lists or None"):
        unwritable.save(saved)

    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_save_that_breaks_half_way_leaves_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(file: Any, **arrays: Any) -> None:  # noqa: ARG001
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(np, "savez_compressed", full_disk)

    with pytest.raises(DataError, match=r"films\.catalogue: cannot be written: No space left"):
        everything().save(saved)

    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_nan_among_the_attributes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`attributes` must be text, numbers, lists or None"):
        Catalogue(["a"], [[1.0]], [], attributes={"x": [np.nan]}).save(tmp_path / "x")

    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_a_folder(saved: Path) -> None:
    with pytest.raises(DataError, match=r"catalogue/films: cannot be written: Not a directory"):
        everything().save(saved / "films")


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "films").mkdir()

    with pytest.raises(DataError, match=r"films: cannot be written: Is a directory"):
        everything().save(tmp_path / "films")

    assert [path.name for path in tmp_path.iterdir()] == ["films"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no/films: cannot be written: No such file or dir"):
        everything().save(tmp_path / "no" / "films")
