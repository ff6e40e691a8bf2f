"""Answers have finite numbers or are no answers."""

import json

import pytest

from variegate.errors import StateError
from variegate.service.responses import json_response


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_is_never_sent(wrong: float) -> None:
    with pytest.raises(StateError, match="a response must have finite numbers"):
        json_response({"items": [{"score": wrong}]})


def test_words_may_have_the_letters_of_one() -> None:
    sent = {"title": "To Infinity: NaN", "score": 1e308}

    assert json.loads(bytes(json_response(sent).body)) == sent
