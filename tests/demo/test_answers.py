"""What a person types: numbers in many forms, a few words, and mistakes with helpful messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.demo import Answer, Command, parse_answer
from variegate.errors import InputError


@pytest.mark.parametrize(
    ("text", "picks"),
    [
        ("1 4 9", (0, 3, 8)),
        ("1,4,9", (0, 3, 8)),
        (" 1, 4 ;9\n", (0, 3, 8)),
        ("9 1 4 1", (0, 3, 8)),
        ("\t10", (9,)),
        ("01", (0,)),
        ("", ()),
        ("  ,\r\n", ()),
    ],
)
def test_numbers_are_positions_counted_from_one(text: str, picks: tuple[int, ...]) -> None:
    assert parse_answer(text, 10) == Answer(Command.PICK, picks)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("w", Command.WHY),
        ("Why", Command.WHY),
        ("?", Command.HELP),
        ("help", Command.HELP),
        (" Q \n", Command.QUIT),
        ("exit", Command.QUIT),
    ],
)
def test_words_ask_for_something_else(text: str, command: Command) -> None:
    assert parse_answer(text, 10) == Answer(command)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("11", r"`11` is not in this list: type numbers from 1 to 10, such as 1 10, or \?"),
        ("0", "`0` is not in this list"),
        ("9" * 5000, "`9{20}…` is not in this list"),
        ("-1", "`-1` is not a number: type numbers from 1 to 10"),
        ("1 q", "`q` is not a number"),
        ("1.5", r"`1\.5` is not a number"),
        ("²", "`²` is not a number"),
        ("alien", "`alien` is not a number"),
    ],
)
def test_mistakes_say_what_would_do(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_answer(text, 10)


@given(st.text(), st.integers(1, 20))
def test_any_text_is_read_or_refused_in_one_line(text: str, k: int) -> None:
    try:
        picks = parse_answer(text, k).picks
    except InputError as error:
        refusal = str(error)
        picks = ()
    else:
        refusal = ""
    assert set(picks) <= set(range(k))
    assert len(refusal.splitlines()) <= 1
