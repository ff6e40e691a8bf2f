"""`variegate inspect`: whether a person sees what is near and what is far."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.running import fail, in_a_process, run
from variegate.cli import neighbours as looking
from variegate.cli.neighbours import by_popularity, distance_summary, find_items, nearest
from variegate.model.catalogue import Catalogue
from variegate.model.distances import difference, jaccard

TITLES = ("Alien [1]", "Aliens", "Heat :fire:", "Amélie\nin \x1b[31mParis")
GENRES = [["horror", "scifi"], ["scifi", "action"], ["crime"], []]
YEARS = [1979, 1986, 1995, 2001]


def made(**options: object) -> Catalogue:
    attributes = {"genres": GENRES, "year": YEARS, "popularity": [5, 9, 7, None], **options}
    return Catalogue(
        ["a", "b", "c", "d"],
        [[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]],
        ["cosine", jaccard(GENRES, name="genres"), difference(YEARS, name="years")],
        TITLES,
        attributes,  # type: ignore[arg-type]
        feature_names=["space", "[town]"],
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made().save(tmp_path / "films.npz")
    return tmp_path / "films.npz"


def test_counts_features_and_distances_are_shown(file: Path) -> None:
    output = run("inspect", file)

    assert output.startswith(f"{file}: 4 items, 2 features, 3 distances\n")
    assert "Attributes: genres, year, popularity\n" in output
    assert "space     -1.00  0.20     1.00      3\n" in output
    assert "[town]     0.00  0.40     1.00      2\n" in output
    # 1 - cos: .2, 1, 2, .4, 1.8, 1
    assert "cosine  cosine      no      1.067    2.000    2.000  all 6\n" in output
    assert "genres  jaccard     yes     0.944    1.000    1.000  all 6\n" in output


def test_neighbours_come_nearest_first_with_what_is_compared(file: Path) -> None:
    lines = run("inspect", file, "--neighbours", "2").split("Nearest to ")[1].splitlines()

    assert lines[0] == "Alien [1] (id a)"
    assert [line.rstrip() for line in lines[1:5]] == [
        "by cosine  title",
        "   itself  Alien [1]    horror, scifi; 1979",
        "    0.200  Aliens       scifi, action; 1986",
        "    1.000  Heat :fire:  crime; 1995",
    ]
    assert lines[11].split() == ["0.318", "Aliens", "1986"]


def test_most_different_pair_and_how_many_are_as_far(file: Path) -> None:
    lines = run("inspect", file).split("Most distant\n")[1].splitlines()

    assert [line.rstrip() for line in lines[:4]] == [
        "by cosine  title",
        "    2.000  Alien [1]            horror, scifi; 1979",
        "    apart  Amélie in [31mParis  -; 2001",
        "  As far apart: no other pair",
    ]
    # All pairs but that of the aliens share no genre.
    assert "  As far apart: 4 more pairs" in lines


@pytest.mark.parametrize(
    ("wanted", "title"),
    [("b", "Aliens"), ("ALIENS", "Aliens"), ("alien [", "Alien [1]"), ("paris", "Amélie in")],
)
def test_item_is_named_by_its_id_or_a_part_of_its_title(
    wanted: str, title: str, file: Path
) -> None:
    assert f"Nearest to {title}" in run("inspect", file, "--item", wanted)


def test_part_of_several_titles_means_the_first_and_names_the_others(file: Path) -> None:
    output = run("inspect", file, "--item", "alien")

    assert "Nearest to Alien [1] (id a)\nAlso matches Aliens.\n" in output


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("alein", ": did you mean 'Alien [1]'?"),
        ("heet", ": did you mean 'Heat :fire:'?"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_item_that_is_not_there_is_one_line_with_the_nearest(
    wanted: str, hint: str, file: Path
) -> None:
    assert fail("inspect", file, "--item", wanted) == (
        f"`item` must be an id or a part of a title, got {wanted!r}{hint}"
    )


def test_best_known_item_is_the_default(tmp_path: Path) -> None:
    made(popularity=[5, 9, 7, 1]).save(tmp_path / "films.npz")

    assert "Nearest to Aliens (id b)" in run("inspect", tmp_path / "films.npz")


def test_features_listed_are_those_that_vary_most(file: Path) -> None:
    output = run("inspect", file, "--features", "1")

    assert "1 of 2 features, by variance" in output
    assert "space " in output
    assert "[town]" not in output


@pytest.mark.parametrize("distances", [[], ["cosine"]])
def test_catalogue_with_one_item_can_be_looked_at(distances: list[str], tmp_path: Path) -> None:
    Catalogue(["only"], [[1.0]], distances).save(tmp_path / "one.npz")

    output = run("inspect", tmp_path / "one.npz")

    assert f": 1 item, 1 feature, {len(distances)} distance" in output
    assert ("No distances" in output) == (not distances)
    assert ("fewer than two items" in output) == bool(distances)


def test_sample_is_stated_and_seeded(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MAX_WORK", 9)

    first, again, other = (run("inspect", file, "--seed", seed) for seed in "001")

    assert first == again != other
    assert "of a random sample of items (seed 0)." in first
    assert "As far apart: no other pair, of 1 drawn" in first


def test_lines_fit_80_columns(tmp_path: Path) -> None:
    long = ["a very long label that nobody would read to its end"] * 3
    Catalogue(
        ["a", "b" * 30],
        np.eye(2, 3),
        ["cosine", jaccard([long[:1], []], name="genres with a very long name")],
        ["A title that goes on and on, and then on " + "字" * 30, "B"],
        {"genres with a very long name": [long, []]},
    ).save(tmp_path / "long.npz")

    done = in_a_process("inspect", "long.npz", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--neighbours", "0"], "`neighbours` must be from 1 to 1000"),
        (["--features", "0"], "`features` must be from 1 to 10000"),
    ],
)
def test_bad_options_are_one_line(words: list[str], message: str, file: Path) -> None:
    assert message in fail("inspect", file, *words)


def test_file_that_is_no_catalogue_is_one_line(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", x=np.eye(2))

    assert fail("inspect", tmp_path / "none.npz").startswith(
        f"no catalogue at {tmp_path / 'none.npz'} (`variegate build` makes one"
    )
    assert "other.npz: not a complete catalogue file" in fail("inspect", tmp_path / "other.npz")


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12))
def test_spread_is_that_of_the_whole_matrix(values: list[int]) -> None:
    h = difference(values, scale=1.0)
    upper = h.matrix()[np.triu_indices(len(values), 1)]

    spread = distance_summary(h, np.arange(len(values)), seed=0)

    assert spread is not None
    assert spread.mean == pytest.approx(upper.mean())
    assert spread.largest == upper.max() == h.matrix()[spread.farthest]
    assert spread.as_far == (upper == upper.max()).sum()
    assert (spread.pairs, spread.is_exact) == (len(upper), True)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.integers(1, 12))
def test_neighbours_are_the_nearest(values: list[int], count: int) -> None:
    h = difference(values, scale=1.0)

    found = nearest(h, 0, count, np.arange(len(values)))

    expected = sorted((abs(value - values[0]), row) for row, value in enumerate(values) if row)
    assert found == [(row, apart) for apart, row in expected[:count]]


def test_fame_follows_popularity_where_all_of_it_is_known() -> None:
    assert by_popularity(made()).tolist() == [0, 1, 2, 3]
    assert by_popularity(made(popularity=[1, 3, 3, 2])).tolist() == [1, 2, 3, 0]


def test_whole_titles_come_before_parts() -> None:
    catalogue = Catalogue(["1", "2"], np.eye(2), "cosine", ["Heat wave", "Heat"])

    assert find_items(catalogue, "heat") == [1, 0]
