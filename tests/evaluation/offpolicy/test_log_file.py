"""Logs of lists, in memory and as files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate import Catalogue
from variegate.errors import DataError, InputError
from variegate.evaluation.offpolicy import SlateTerms, log_line, read_log, slate_log, write_log
from variegate.policies import Dial

CATALOGUE = Catalogue(["alien", "heat", "ran", "é\n"], np.eye(4), "cosine")


def test_a_log_comes_back_from_its_file_as_it_was(tmp_path: Path) -> None:
    log = slate_log(
        [[0, 3], [2, 1]],
        [[0.25, 0.0], [1.0, 0.0]],
        [[0.1, 1 / 3], [1.0, 0.5]],
        seen=[[True, False], [True, True]],
        users=["ann", None],
    )

    write_log(tmp_path / "log.jsonl", log, CATALOGUE)
    again = read_log(tmp_path / "log.jsonl", CATALOGUE)

    np.testing.assert_array_equal(again.items, log.items)
    np.testing.assert_array_equal(again.rewards, log.rewards)
    np.testing.assert_array_equal(again.propensities, log.propensities)
    np.testing.assert_array_equal(again.seen, log.seen)
    assert again.users == log.users


@given(chance=st.floats(1e-300, 1.0), reward=st.floats(0.0, 1.0), user=st.text() | st.none())
def test_a_line_holds_what_it_was_given(chance: float, reward: float, user: str | None) -> None:
    line = log_line(["a"], [reward], [chance], user=user)

    assert "\n" not in line
    assert json.loads(line) == {
        "user": user,
        "items": ["a"],
        "propensities": [chance],
        "rewards": [reward],
        "seen": [True],
    }


def test_what_may_be_left_out_may_be(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"items": ["ran"], "propensities": [1], "rewards": [1], "time": "noon"}\n\n'
        '{"user": 7, "items": ["heat"], "propensities": [0.5], "rewards": [0]}'
    )

    log = read_log(path, CATALOGUE)

    np.testing.assert_array_equal(log.items, [[2], [1]])
    assert log.seen.all()
    assert log.users == (None, "7")


def test_lists_of_one_length_can_be_picked_out(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [log_line(CATALOGUE.ids[:k], [0.0] * k, [0.5] * k) for k in (1, 2, 1, 3)]
    path.write_text("\n".join(lines))

    assert len(read_log(path, CATALOGUE, k=1)) == 2
    with pytest.raises(DataError, match=r"log.jsonl: no lists of 4 items"):
        read_log(path, CATALOGUE, k=4)
    with pytest.raises(DataError, match=r"jsonl:2: a list of 2 items among lists of 1: read one"):
        read_log(path, CATALOGUE)


def test_what_lists_were_chosen_from_comes_back(tmp_path: Path) -> None:
    terms = [
        SlateTerms(np.array([True, False, True, True]), 0.25, Dial(2.0, {"cosine": 0.5}), "a"),
        SlateTerms(np.array([True, False, False, False]), 1.0),
        SlateTerms(np.array([True, True, True]), policy="b"),  # before the last item came
        None,
    ]
    log = slate_log([[0]] * 4, [[0.0]] * 4, [[0.5]] * 4, terms=terms)

    write_log(tmp_path / "log.jsonl", log, CATALOGUE)
    again = read_log(tmp_path / "log.jsonl", CATALOGUE).terms

    assert again[3] is None
    for old, new in zip(terms[:3], again[:3], strict=True):
        assert old is not None
        assert new is not None
        np.testing.assert_array_equal(
            np.flatnonzero(new.candidates), np.flatnonzero(old.candidates)
        )
        assert (new.mix, new.dial, new.policy) == (old.mix, old.dial, old.policy)
        assert not new.is_assumed


def test_only_what_may_stand_in_a_line_is_written() -> None:
    assert json.loads(log_line(["a"], [0], [1], mix=0.1, dial=None))["mix"] == 0.1
    with pytest.raises(InputError, match=r"`terms` must be among candidates, .* got 'mxi'"):
        log_line(["a"], [0], [1], mxi=0.1)


GOOD = {"items": ["alien", "ran"], "propensities": [0.5, 0.5], "rewards": [1, 0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": ["alien", "jaws"]}, r"no item 'jaws' in the catalogue"),
        ({"items": []}, r"`items` must be a list of ids, got \[\]"),
        ({"items": "alien"}, "`items` must be a list of ids, got 'alien'"),
        ({"items": ["ran", "ran"]}, "`items` must be distinct within a list"),
        ({"propensities": [0.5]}, r"`propensities` must have 2 entries as `items`, got \[0.5\]"),
        ({"propensities": [0.5, 0]}, "`propensities` must be greater than 0 and at most 1, got 0"),
        ({"propensities": [0.5, 1.1]}, "greater than 0 and at most 1, got 1.1"),
        ({"propensities": [0.5, None]}, "must hold a number for each item, got None"),
        ({"propensities": [0.5, float("nan")]}, "`propensities` must be finite, got nan"),
        ({"rewards": [True, 0]}, "`rewards` must hold a number for each item, got True"),
        ({"rewards": [2, 0]}, "`rewards` must lie from 0 to 1, got 2.0 in list 0, position 0"),
        ({"seen": [False, True]}, "`rewards` must be 0 where nothing was seen, got 1.0"),
        ({"seen": [1, 1]}, "`seen` must hold true or false for each item, got 1"),
        ({"rewards": [10**400, 0]}, "`rewards` must be an array of numbers: "),
        ({"rewards": "10"}, "`rewards` must have 2 entries as `items`, got '10'"),
        ({"candidates": ["jaws"]}, r"no item 'jaws' in the catalogue"),
        ({"exclude": "alien"}, "`exclude` must be a list of ids, got 'alien'"),
        ({"catalogue_size": 5}, "`catalogue_size` must be from 1 to 4, .* got 5"),
        ({"mix": 2}, "`mix` must be a number from 0 to 1, got 2"),
        ({"dial": 2}, "`dial` must be an object, got 2"),
        ({"dial": {"scale": -1}}, "`scale` must be a number from 0 to"),
        ({"dial": {"turn": 1}}, "`dial` must have scale, floor or ceiling, got 'turn'"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [GOOD, GOOD, {**GOOD, **change}])))

    with pytest.raises(DataError, match=rf"log.jsonl:3: .*{message}"):
        read_log(path, CATALOGUE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"items": ["ran"]', "log.jsonl:1: not a line of JSON: "),
        (b'\n{"items": ["\xff"]}', "log.jsonl:2: not a line of JSON: "),
        (b"[" * 100_000, "log.jsonl:1: not a line of JSON: "),
        (b"[1]", "log.jsonl:1: must be an object, got list"),
        (b'{"items": ["ran"], "rewards": [1]}', "log.jsonl:1: no `propensities`"),
        (b"\n\n", "log.jsonl: no lists"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(text)

    with pytest.raises(DataError, match=message):
        read_log(path, CATALOGUE)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.jsonl: cannot be read: No such file"):
        read_log(tmp_path / "none.jsonl", CATALOGUE)


def test_a_log_of_another_catalogue_is_not_written(tmp_path: Path) -> None:
    log = slate_log([[9]], [[0]], [[1]])

    with pytest.raises(InputError, match=r"`log` must hold rows of .*, got row 9"):
        write_log(tmp_path / "log.jsonl", log, CATALOGUE)

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[0.5]], [[0]], [[1]]), {}, "`items` must hold row numbers"),
        (([[1e300]], [[0]], [[1]]), {}, "`items` must hold row numbers"),
        (([[-1]], [[0]], [[1]]), {}, "`items` must be rows from 0, got -1"),
        (([], [[0]], [[1]]), {}, r"`items` must have 2 axes, got shape \(0,\)"),
        ((np.zeros((0, 2)), [[0]], [[1]]), {}, "`items` must be at least one list of one item"),
        (([[0]], [[0, 0]], [[1]]), {}, r"`rewards` must have shape \(1, 1\) as the items"),
        (([[0]], [[0]], [[1]]), {"seen": [[1]]}, "`seen` must be a mask with .* got int64"),
        (([[0]], [[0]], [[1]]), {"users": ["a", "b"]}, "`users` must have 1 entries, got 2"),
        (([[0]], [[0]], [[1]]), {"terms": [None] * 2}, "`terms` must have 1 entries, got 2"),
    ],
)
def test_a_log_that_cannot_be_is_refused(
    arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        slate_log(*arguments, **options)
