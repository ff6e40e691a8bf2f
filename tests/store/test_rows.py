"""Text that a database cannot store is refused before it is sent; JSON of the rows."""

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.factories import event, item, key, slate, user
from variegate.errors import InputError
from variegate.store import Batch, Store
from variegate.store.rows import check_ids, from_json, to_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.fixture(scope="module")
def store_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(str(tmp_path_factory.mktemp("store") / "file")) as store:
        yield store


@pytest.mark.parametrize("text", ["a\0", "\0", "\ud800"], ids=["end", "alone", "surrogate"])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("user", lambda batch, text: batch.users(["ada", text])),
        ("user", lambda batch, text: batch.lock_users([text])),
        ("user", lambda batch, text: batch.ensure_users([user(text)])),
        ("policy", lambda batch, text: batch.ensure_users([user(policy=text)])),
        ("user", lambda batch, text: batch.save_users([user(text)])),
        ("user", lambda batch, text: batch.forget_user(text)),
        ("user", lambda batch, text: batch.history(text, 1)),
        ("before", lambda batch, text: batch.history("ada", 1, text)),
        ("after", lambda batch, text: batch.all_users(text, 1)),
        ("user", lambda batch, text: batch.events(text, limit=1)),
        ("slate", lambda batch, text: batch.slates([text])),
        ("slate", lambda batch, text: batch.existing(slates=[text])),
        ("slate", lambda batch, text: batch.add_slates([slate(text)])),
        ("user", lambda batch, text: batch.add_slates([slate(owner=text)])),
        ("policy", lambda batch, text: batch.add_slates([slate(policy=text)])),
        ("slate", lambda batch, text: batch.update_slates([slate(text)])),
        ("user", lambda batch, text: batch.add_events([event(text)])),
        ("slate", lambda batch, text: batch.add_events([event(slate_id=text)])),
        ("kind", lambda batch, text: batch.add_events([event(kind=text)])),
        ("item", lambda batch, text: batch.add_items([item(name=text)])),
        ("item", lambda batch, text: batch.update_items([item(name=text)])),
        ("key", lambda batch, text: batch.add_key(key(text))),
        ("name", lambda batch, text: batch.add_key(key(name=text))),
        ("role", lambda batch, text: batch.add_key(key(role=text))),
        ("hash", lambda batch, text: batch.add_key(key(hash=text))),
        ("key", lambda batch, text: batch.revoke_key(text, 1.0)),
        ("key", lambda batch, text: batch.meta(text)),
        ("key", lambda batch, text: batch.set_meta(text, "")),
        ("value", lambda batch, text: batch.set_meta("", text)),
    ],
)
def test_text_that_a_database_cannot_store_is_refused(
    store_of_all: Store, text: str, name: str, call: Callable[[Batch, str], object]
) -> None:
    with store_of_all.batch() as batch:
        before = batch.counts()
        with pytest.raises(InputError, match=rf"^`{name}` must "):
            call(batch, text)
        assert batch.counts() == before


@pytest.mark.parametrize("text", ["x" * 1025, "🦉" * 257], ids=["letters", "owls"])
def test_id_that_is_too_long_for_an_index_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^`user` must be at most 1024 bytes long, got 102[58]$"):
        check_ids("user", ["ada", text])


@given(values)
def test_json_is_read_as_what_was_written(value: object) -> None:
    text = to_json(value)
    assert json.loads(text) == from_json(text) == value
    assert "\n" not in text


@pytest.mark.parametrize("text", ["Infinity War", "NaN", "half a \ud83e"])
def test_json_holds_words_for_numbers_and_halves_of_characters(text: str) -> None:
    assert from_json(to_json({text: [text, 0.1]})) == {text: [text, 0.1]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    with pytest.raises(InputError, match="must hold finite numbers only"):
        to_json({"rewards": [1.0, number]})
