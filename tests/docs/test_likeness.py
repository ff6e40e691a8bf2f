"""The comparison of documents with answers sees what it must see."""

from typing import Any

import pytest

from tests.docs.likeness import differences, missing_lines

ID, OTHER = "01M7GZQB20HJSYJT9THRB18X8B", "01M7GZQBEBKEDX0KZAGQJA7KJH"


@pytest.mark.parametrize(
    ("shown", "real"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1.0}),
        ({"a": 1, "…": "…"}, {"a": 1, "b": 2}),
        ([1, "…"], [1, 2, 3]),
        (["…"], []),
        ({"slate_id": ID}, {"slate_id": OTHER}),
        (f"slate '{ID}' is known", f"slate '{OTHER}' is known"),
        ({"request_id": "a-1"}, {"request_id": "b-2"}),
        ({"created": 1794792865.9}, {"created": 1894792865.1}),
        (0.2998, 0.2998245941139633),
        ("AAAB…", "AAABCCC"),
        (None, None),
    ],
)
def test_the_same_is_the_same(shown: Any, real: Any) -> None:
    assert differences(shown, real) == []


@pytest.mark.parametrize(
    ("shown", "real"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 1}),
        ({"a": 1, "c": 1, "…": "…"}, {"a": 1, "b": 2}),
        ([1, 2], [1, 2, 3]),
        ([1, 2, "…"], [1]),
        ([1, 3, "…"], [1, 2, 3]),
        ({"a": {"b": "x"}}, {"a": {"b": "y"}}),
        (0.29, 0.2998),
        (1794792865.9, 0.5),
        (1, True),
        (0, None),
        (0, False),
        ("1", 1),
        ([], {}),
        ("AAAC…", "AAABCCC"),
    ],
)
def test_another_thing_is_seen(shown: Any, real: Any) -> None:
    assert len(differences(shown, real)) == 1


def test_lines_are_compared_but_for_their_numbers() -> None:
    real = "# Seconds.\nwait = 86400.0\nsum 2.2e-05"

    assert missing_lines("wait = 3600.0\n…\nsum 0.5", real) == []
    assert missing_lines("late = 1", real) == ["late = 1"]
