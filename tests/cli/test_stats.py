"""`variegate stats`: Table 1, from the real archives and from tiny ones."""

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.running import archive, fail, in_a_process, run
from tests.paths import FIXTURES
from variegate.cli.datasets import verdict
from variegate.data.dataset import Counts
from variegate.data.movielens import load_movielens_100k


def row(output: str, name: str) -> list[str]:
    (line,) = (line for line in output.splitlines() if re.match(rf"{name} +\d", line))
    return line.split()[1:]


@pytest.mark.parametrize(
    ("name", "file", "counts"),
    [
        ("ml-100k", "ml-100k.zip", ["942", "1,447", "55,375", "18", "4.06%"]),
        ("ml-1m", "ml-1m.zip", ["6,038", "3,533", "575,281", "18", "2.70%"]),
    ],
)
def test_movielens_agrees_exactly_with_the_paper(name: str, file: str, counts: list[str]) -> None:
    path = archive(file)

    output = run("stats", path)

    *found, seconds = row(output, name)
    assert found == counts == row(output.replace("  the paper", "paper"), "paper")
    assert float(seconds) > 0
    assert f"{name} ({file}) agrees exactly with the paper" in output


def test_anime_sample_is_called_a_sample() -> None:
    path = archive("anime-5k.zip")

    output = run("stats", path)

    assert row(output, "anime")[:4] == ["4,704", "6,482", "345,717", "43"]
    assert "  the paper  69,400  8,825     5,231,117          44    0.85%" in output
    assert (
        "anime (anime-5k.zip) differs from the paper: it is a sample, with 4,704 of 69,400 users; "
        "its categories are 44 if having none counts as one\n"
    ) in output


def test_other_counts_of_as_many_users_are_no_sample() -> None:
    data = load_movielens_100k(FIXTURES / "ml-100k")

    assert verdict(data, Counts(3, 4, 4, 3)) == "agrees exactly with the paper"
    assert verdict(data, Counts(3, 4, 5, 3)) == "differs from the paper"


def test_all_that_is_at_hand_is_counted_in_a_process_of_its_own(tmp_path: Path) -> None:
    for name in ("ml-100k", "anime"):
        shutil.copytree(FIXTURES / name, tmp_path / name)

    done = in_a_process(
        "stats", VARIEGATE_DATA=str(tmp_path), XDG_DATA_HOME=str(tmp_path / "empty")
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert row(done.stdout, "ml-100k")[:4] == ["3", "4", "4", "3"]
    assert row(done.stdout, "anime")[:3] == ["2", "3", "3"]
    assert "ml-1m" not in done.stdout


def test_name_and_path_can_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FIXTURES / "ml-100k", tmp_path / "ml-100k")
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))

    output = run("stats", "ml-100k", FIXTURES / "ml-1m")

    assert row(output, "ml-100k")[:4] == ["3", "4", "4", "3"]
    assert row(output, "ml-1m")[:4] == ["2", "3", "3", "3"]


def test_nothing_at_hand_says_what_to_run(tmp_path: Path) -> None:
    done = in_a_process("stats", VARIEGATE_DATA=str(tmp_path), XDG_DATA_HOME=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr == (
        f"Error: none of ml-100k, ml-1m, anime is in {tmp_path}: "
        "run `variegate fetch ml-100k`, or give the path of a zip or folder\n"
    )


def test_path_that_is_nothing_is_one_line(tmp_path: Path) -> None:
    assert fail("stats", tmp_path / "ml").endswith(
        "ml: no such file or folder, and not the name of a data set: ml-100k, ml-1m, anime"
    )
    assert "not a known data set: expected u.data and u.item, or " in fail("stats", tmp_path)


def test_zip_that_is_cut_off_is_one_line(tmp_path: Path) -> None:
    cut = tmp_path / "ml-100k.zip"
    cut.write_bytes(b"PK\x03\x04 and no more")

    assert fail("stats", cut).startswith(f"{cut}: not a complete zip file: ")
