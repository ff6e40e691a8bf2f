"""MovieLens and Anime, read from a zip or a folder."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.data.loading.making import pairs, zipped
from variegate.data.anime import load_anime
from variegate.data.download import DATASETS
from variegate.data.movielens import load_movielens_1m, load_movielens_100k
from variegate.errors import DataError, InputError


@pytest.mark.parametrize(
    ("name", "file", "expected"),
    [
        ("ml-100k", "ml-100k.zip", (55_375, 942, 1_447, 18)),
        ("ml-1m", "ml-1m.zip", (575_281, 6_038, 3_533, 18)),
        ("anime", "anime-5k.zip", (345_717, 4_704, 6_482, 43)),
    ],
)
def test_counts_after_the_filter_are_the_papers(
    name: str,
    file: str,
    expected: tuple[int, int, int, int],
    archive: Callable[[str], Path],
) -> None:
    data = DATASETS[name].load(archive(file))
    counts = (len(data), len(data.user_ids), len(data.item_ids), len(data.category_names))
    assert counts == expected
    assert np.array_equal(np.unique(data.users), np.arange(expected[1]))
    assert np.array_equal(np.unique(data.items), np.arange(expected[2]))


def test_movielens_100k_keeps_ratings_above_three(tiny: Path) -> None:
    data = load_movielens_100k(tiny / "ml-100k")
    assert pairs(data) == [("7", "2"), ("7", "1"), ("8", "3"), ("9", "5")]
    assert data.users.dtype == data.items.dtype == np.intp
    assert data.name == "ml-100k"


def test_movielens_100k_reads_titles_years_and_genres_but_unknown(tiny: Path) -> None:
    data = load_movielens_100k(tiny / "ml-100k")
    # Item 5 was rated and is not in u.item.
    assert data.titles == ("Two Moons (1985)", "Café Nowhere (1990)", "Untold", "5")
    assert data.categories == (("Sci-Fi",), ("Comedy", "Drama"), (), ())
    np.testing.assert_array_equal(data.item_table.numbers["year"], [1985.0, 1991.0, np.nan, np.nan])


def test_movielens_1m_takes_the_year_from_the_brackets_at_the_end(tiny: Path) -> None:
    data = load_movielens_1m(tiny / "ml-1m")
    assert pairs(data) == [("7", "2"), ("7", "1"), ("8", "3")]
    assert data.titles == ("Two Moons (Deux) (1985)", "Café: Nowhere (1990)", "Untold")
    assert data.category_names == ("Comedy", "Drama", "Sci-Fi")
    np.testing.assert_array_equal(data.item_table.numbers["year"], [1985.0, 1990.0, np.nan])


def test_anime_reads_quoted_names_genres_and_unknown_episodes(tiny: Path) -> None:
    data = load_anime(tiny / "anime")
    assert pairs(data) == [("1", "10"), ("2", "11"), ("2", "12")]
    assert data.titles == ("Sun, Moon 'til Dawn", "Sólo", "Endless")
    assert data.categories == (("Drama", "Space"), (), ("Space",))
    assert data.item_table.categories["type"] == ("TV", "Movie", "")
    np.testing.assert_array_equal(data.item_table.numbers["episodes"], [12.0, 1.0, np.nan])


def test_anime_watched_but_not_rated_is_never_a_like(tiny: Path) -> None:
    assert ("1", "11") not in pairs(load_anime(tiny / "anime", threshold=-5))


@pytest.mark.parametrize("threshold", [0, 3.5, 4])
def test_threshold_is_exclusive(threshold: float, tiny: Path) -> None:
    ratings = [5, 4, 4, 3, 1, 5]
    data = load_movielens_100k(tiny / "ml-100k", threshold=threshold)
    assert len(data) == sum(rating > threshold for rating in ratings)


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("inner", ["", "inside/"])
def test_zip_reads_as_its_folder_does(name: str, inner: str, tiny: Path, tmp_path: Path) -> None:
    load = DATASETS[name].load
    whole, packed = load(tiny / name), load(zipped(tiny / name, tmp_path / "a.zip", inner))
    assert pairs(packed) == pairs(whole)
    assert packed.titles == whole.titles
    assert list(tmp_path.iterdir()) == [tmp_path / "a.zip"]


@pytest.mark.parametrize("name", DATASETS)
def test_the_parent_of_the_unpacked_folder_does_too(name: str, tiny: Path) -> None:
    load = DATASETS[name].load
    assert pairs(load(str(tiny))) == pairs(load(tiny / name))


@pytest.mark.parametrize("name", DATASETS)
def test_missing_path_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.zip: no such file or folder"):
        DATASETS[name].load(tmp_path / "nowhere.zip")


@pytest.mark.parametrize("name", DATASETS)
def test_folder_without_the_files_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": no `(u\.item|movies\.dat|anime\.csv)` in this folder"):
        DATASETS[name].load(tmp_path)


@pytest.mark.parametrize("name", DATASETS)
def test_zip_without_the_files_is_named(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("README", "nothing")
    with pytest.raises(DataError, match=r"a\.zip: no `[a-z.]+` in this zip"):
        DATASETS[name].load(tmp_path / "a.zip")


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("kept", [0, 10, 200, -1, -30])
def test_zip_that_is_cut_off_is_named(name: str, kept: int, tiny: Path, tmp_path: Path) -> None:
    path = zipped(tiny / name, tmp_path / "a.zip")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(DataError, match=r"a\.zip: not a complete zip file"):
        DATASETS[name].load(path)


def test_zip_with_a_damaged_body_is_named(tiny: Path, tmp_path: Path) -> None:
    path = zipped(tiny / "ml-1m", tmp_path / "a.zip")
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.zip: not a complete zip file"):
        load_movielens_1m(path)


@pytest.mark.parametrize(
    ("name", "file", "line", "match"),
    [
        ("ml-100k", "u.data", "7\t2\t5", r"u\.data:7: expected 4 fields, got 3: '7\\t2\\t5'"),
        ("ml-100k", "u.data", "7\t2\tx\t1", r"u\.data:7: column `rating` .* got 'x'"),
        ("ml-100k", "u.item", "6|Six", r"u\.item:5: expected 24 fields, got 2"),
        ("ml-100k", "u.item", "1|One|||" + "|0" * 19, r"u\.item:5: .*'1' again, .*u\.item:1"),
        ("ml-100k", "u.item", "6|Six|||" + "|2" * 19, r"u\.item:5: the flag of unknown .* got '2'"),
        ("ml-1m", "ratings.dat", "7::2::5", r"ratings\.dat:5: expected 4 fields, got 3"),
        ("ml-1m", "ratings.dat", "::2::5::1", r"ratings\.dat:5: column `user` must hold an id"),
        ("ml-1m", "movies.dat", "3::Again::", r"movies\.dat:4: .*'3' again, first at .*:3"),
        ("anime", "rating.csv", "1,2,3,4", r"rating\.csv:7: expected 3 fields, got 4"),
        ("anime", "rating.csv", "1,2,?", r"rating\.csv:7: column `rating` .* got '\?'"),
        ("anime", "anime.csv", "9,N,G,TV,few,1,2", r"anime\.csv:5: column `episodes` .* 'few'"),
    ],
)
def test_broken_line_is_named(
    name: str, file: str, line: str, match: str, tiny: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny / name, tmp_path / name)
    with (tmp_path / name / file).open("a", encoding="utf-8") as out:
        out.write(line + "\n")
    with pytest.raises(DataError, match=match):
        DATASETS[name].load(tmp_path / name)


def test_a_file_in_a_zip_is_named_with_its_archive(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny / "ml-1m", tmp_path / "in")
    (tmp_path / "in" / "ratings.dat").write_text("1::2\n")
    path = zipped(tmp_path / "in", tmp_path / "a.zip", "ml-1m/")
    with pytest.raises(DataError, match=r"a\.zip/ml-1m/ratings\.dat:1: expected 4 fields, got 2"):
        load_movielens_1m(path)


@pytest.mark.parametrize("name", DATASETS)
def test_nothing_left_after_the_filter_is_an_error(name: str, tiny: Path) -> None:
    with pytest.raises(DataError, match=r": no rating is above 10$"):
        DATASETS[name].load(tiny / name, threshold=10)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "3", None])
def test_threshold_must_be_a_number(threshold: float, tiny: Path) -> None:
    with pytest.raises(InputError, match="`threshold` must be a finite number, got"):
        load_movielens_100k(tiny / "ml-100k", threshold=threshold)


@pytest.mark.parametrize("path", ["", "a\0b", 3])
def test_path_must_be_one(path: str) -> None:
    with pytest.raises(InputError, match="`path` must be the path of a file or folder"):
        load_anime(path)
