"""Files of results: each kind says the same numbers, and what ± means."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.extras import needs
from variegate.errors import InputError
from variegate.evaluation.result_table import ResultTable, Series, check_format, write_results

NOTE = "± standard error over users."


@pytest.fixture
def table() -> ResultTable:
    """Two policies and two measures over two rounds."""
    mean, error = np.array([0.25, 0.5]), np.array([0.1, 0.2])
    series = [
        Series(name, measure, factor * mean, error, factor * mean - error, factor * mean + error)
        for name, factor in (("lmdh:search_x=1", 1.0), ("mmr <b>", 2.0))
        for measure in ("F1", "recall")
    ]
    return ResultTable("Replay & more", NOTE, "standard error", series)


def test_csv_and_json_have_every_round(table: ResultTable, tmp_path: Path) -> None:
    write_results(table, tmp_path / "r.csv")
    write_results(table, tmp_path / "r.JSON")

    rows = list(csv.DictReader((tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()))
    found = json.loads((tmp_path / "r.JSON").read_text(encoding="utf-8"))
    assert list(rows[0]) == ["policy", "measure", "round", "mean", "standard_error", "low", "high"]
    assert rows[1]["mean"] == "0.5"
    assert len(rows) == len(found["records"]) == 8
    assert found["records"][7]["high"] == pytest.approx(1.2)
    assert found["note"] == NOTE


def test_tex_has_the_last_round_with_signs_escaped(table: ResultTable, tmp_path: Path) -> None:
    write_results(table, tmp_path / "r.tex")

    lines = (tmp_path / "r.tex").read_text(encoding="utf-8").splitlines()
    assert r"lmdh:search\_x=1 & 0.500 $\pm$ 0.200 & 0.500 $\pm$ 0.200 \\" in lines
    assert r"\caption{Replay \& more, after 2 rounds. $\pm$ standard error over users.}" in lines


@needs("matplotlib")
def test_pictures_and_pages_are_complete(table: ResultTable, tmp_path: Path) -> None:
    for name in ("r.png", "r.svg", "r.html"):
        write_results(table, tmp_path / name)

    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert "<td>mmr &lt;b&gt;</td><td>1.000 ± 0.200</td>" in page
    assert "data:image/png;base64," in page
    assert "http" not in page


def test_differences_whose_interval_excludes_0_have_a_star(tmp_path: Path) -> None:
    sides = {"F1": (0.1, 0.3), "recall": (-0.1, 0.5), "F2": (-0.4, -0.2)}
    series = [
        Series("a - b", name, *(np.array([one]) for one in ((low + high) / 2, 0.1, low, high)))
        for name, (low, high) in sides.items()
    ]

    write_results(
        ResultTable("A minus B", NOTE, "half interval", series, is_difference=True),
        tmp_path / "r.tex",
    )

    text = (tmp_path / "r.tex").read_text(encoding="utf-8")
    assert r"a - b & *0.200 $\pm$ 0.100 & 0.200 $\pm$ 0.100 & *-0.300 $\pm$ 0.100" in text


def test_a_folder_that_is_not_there_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`out` must be in a folder that exists, got '.*none'"):
        check_format(tmp_path / "none" / "r.csv")


def test_an_unknown_kind_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`out` must end in \.csv, .*, got 'r\.xlsx'"):
        check_format("r.xlsx")
    assert check_format(tmp_path / "a.b.CSV") == ".csv"
