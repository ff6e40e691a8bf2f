"""The file of costs."""

import json
from pathlib import Path

import pytest

from tests.capacity.making import costs
from variegate.capacity import Costs
from variegate.errors import DataError, VariegateError


def test_a_file_holds_the_costs(tmp_path: Path) -> None:
    measured = costs(lone_seconds=(0.01, 0.02))

    measured.save(tmp_path / "costs.json")

    assert Costs.load(tmp_path / "costs.json") == measured


def test_the_package_has_measured_costs() -> None:
    assert Costs.load().request_cpu > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"user_bytes": -1}, "`user_bytes` must be a number of at least 0, got -1"),
        ({"lone_seconds": []}, "`lone_seconds` must hold at least one time"),
        ({"lone_seconds": [0.0]}, "`lone_seconds` must be a number greater than 0"),
        ({"more": 1}, "must be a JSON object of costs with machine, catalogue"),
    ],
)
def test_wrong_costs_are_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    file = tmp_path / "costs.json"
    costs().save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    with pytest.raises(VariegateError, match=words):
        Costs.load(file)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "costs.json").write_text("users")

    with pytest.raises(DataError, match=r"costs\.json: must be a JSON object of costs"):
        Costs.load(tmp_path / "costs.json")
