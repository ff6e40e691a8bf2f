"""Embeddings from anywhere, and as files."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate.data.embeddings import Embeddings, make_embeddings
from variegate.errors import DataError, InputError

SMALL = Embeddings(
    ("a", "b"),
    np.array([[0.5, -1.0], [0.25, 0.125]]),
    np.array([0.1, 0.2]),
    3.5,
    {"method": "bpr", "seed": 4},
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("embeddings") / "small.npz"
    SMALL.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch") / "file.npz"


def test_ids_of_any_kind_are_kept_as_text() -> None:
    brought = make_embeddings(np.array([7, 9]), [[3.0, 0.0], [0.0, -6.0]])
    assert brought.item_ids == ("7", "9")
    assert brought.scale == 6.0
    assert dict(brought.settings) == {"method": "given", "normalise": "global"}


def test_mean_user_stays_as_it_came() -> None:
    brought = make_embeddings(["a"], [[3.0, 4.0]], normalise="row", mean_user=[8.0, 9.0])
    assert brought.mean_user is not None
    np.testing.assert_array_equal(brought.mean_user, [8.0, 9.0])
    np.testing.assert_allclose(brought.vectors, [[0.6, 0.8]])


def test_vectors_are_a_copy_that_nobody_can_write_to() -> None:
    matrix = np.eye(2)
    brought = make_embeddings(["a", "b"], matrix, normalise="none")
    matrix[0, 0] = 5.0
    assert brought.vectors[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        brought.vectors[0, 0] = 2.0


@pytest.mark.parametrize(
    ("ids", "matrix", "words"),
    [
        (["a"], [[np.nan]], r"`vectors` must be finite, got nan at \[0, 0\]"),
        (["a"], [[np.inf]], r"`vectors` must be finite, got inf"),
        (["a"], [1.0], r"`vectors` must have 2 axes, got shape \(1,\)"),
        (["a"], [[1.0], [2.0]], r"`vectors` must have 1 rows .* got shape \(2, 1\)"),
        (["a"], [[]], r"at least 1 column, got shape \(1, 0\)"),
        (["a", "a"], [[1.0], [2.0]], r"`ids` must be distinct, got 'a' twice"),
        ([1, "1"], [[1.0], [2.0]], r"`ids` must be distinct, got '1' twice"),
        (["a", ""], [[1.0], [2.0]], r"`ids` must not be empty text"),
        ([], np.zeros((0, 2)), r"`ids` must name at least one item, got none"),
        ("ab", [[1.0], [2.0]], r"`ids` must be one id for each item, got the text 'ab'"),
        (["a", "b"], [[0.0], [0.0]], r"`vectors` must differ from zero, got only zeros"),
    ],
)
def test_what_cannot_be_embeddings_is_refused(ids: list[str], matrix: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_embeddings(ids, matrix)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mean_user", "words"),
    [([1.0], "`mean_user` must have 2 entries, got 1"), ([1.0, np.nan], "`mean_user` must be fin")],
)
def test_mean_user_that_does_not_fit_is_refused(mean_user: list[float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make_embeddings(["a"], [[1.0, 2.0]], mean_user=mean_user)


def test_settings_that_json_cannot_say_are_refused() -> None:
    with pytest.raises(InputError, match=r"`settings` must be text, numbers, lists or None"):
        Embeddings(("a",), np.ones((1, 1)), settings={"seed": object()})


def test_saved_embeddings_are_loaded_as_they_were(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "small.npz")
    loaded = Embeddings.load(tmp_path / "small.npz")
    assert loaded.item_ids == SMALL.item_ids
    assert loaded.scale == SMALL.scale
    assert loaded.settings == SMALL.settings
    assert loaded.vectors.tobytes() == SMALL.vectors.tobytes()
    assert loaded.mean_user is not None
    np.testing.assert_array_equal(loaded.mean_user, [0.1, 0.2])


def test_no_mean_user_stays_none_in_a_file(tmp_path: Path) -> None:
    make_embeddings(["a"], [[1.0]]).save(tmp_path / "one")
    assert Embeddings.load(tmp_path / "one").mean_user is None


def test_missing_file_is_reported_by_its_path(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no embeddings at .*nowhere\.npz"):
        Embeddings.load(tmp_path / "nowhere.npz")


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (
            {"format": "variegate catalogue", "version": 1},
            "not a file of variegate's embeddings format",
        ),
        ({"format": "variegate embeddings", "version": 9}, "version 9 of the embeddings format"),
        ({"format": "variegate embeddings", "version": 1}, "not a complete embeddings file"),
        ([], "not a complete embeddings file"),
    ],
)
def test_file_of_another_format_is_refused(tmp_path: Path, header: object, words: str) -> None:
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "other.npz", header=text)
    with pytest.raises(DataError, match=words):
        Embeddings.load(tmp_path / "other.npz")


def test_pickled_arrays_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", header=np.array([{"format": "x"}], dtype=object))
    with pytest.raises(DataError, match="not a complete embeddings file"):
        Embeddings.load(tmp_path / "pickled.npz")


def test_plain_array_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "plain.npy", np.eye(2))
    with pytest.raises(DataError, match="not a complete embeddings file"):
        Embeddings.load(tmp_path / "plain.npy")


@given(share=st.floats(0, 0.999))
def test_file_that_is_cut_off_is_refused(saved: bytes, scratch: Path, share: float) -> None:
    scratch.write_bytes(saved[: int(share * len(saved))])
    with pytest.raises(DataError, match=r"file\.npz: not a complete embeddings file"):
        Embeddings.load(scratch)


@given(place=st.integers(0), byte=st.integers(0, 255))
def test_file_with_a_wrong_byte_is_the_same_or_refused(
    saved: bytes, scratch: Path, place: int, byte: int
) -> None:
    place %= len(saved)
    scratch.write_bytes(saved[:place] + bytes([byte]) + saved[place + 1 :])
    with suppress(DataError):
        loaded = Embeddings.load(scratch)
        assert loaded.vectors.tobytes() == SMALL.vectors.tobytes()
        assert loaded.settings == SMALL.settings
