"""A prior as a file: bit for bit the same, or a clear error."""

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prior.making import population
from variegate import Catalogue
from variegate.errors import DataError
from variegate.prior import Prior


def sample() -> Prior:
    truth = population(4)
    return Prior(truth.mean, truth.covariance, 0.1, ("π", "popularity"), ("cosine", "年"), 754)


def same(one: Prior, other: Prior) -> bool:
    return (
        np.array_equal(one.mean, other.mean)
        and np.array_equal(one.covariance, other.covariance)
        and (one.noise, one.feature_names, one.distances, one.users)
        == (other.noise, other.feature_names, other.distances, other.users)
    )


@pytest.mark.parametrize("prior", [sample(), sample().of_relevance()], ids=["whole", "m = 0"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, prior: Prior) -> None:
    prior.save(tmp_path / "a.prior")

    assert same(Prior.load(str(tmp_path / "a.prior")), prior)
    assert same(Prior.from_bytes(prior.to_bytes()), prior)
    assert [file.name for file in tmp_path.iterdir()] == ["a.prior"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no prior at .*missing\.prior"):
        Prior.load(tmp_path / "missing.prior")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory"):
        Prior.load(tmp_path)
    with pytest.raises(DataError, match=r"missing/a\.prior: cannot be written"):
        sample().save(tmp_path / "missing" / "a.prior")


def test_a_catalogue_is_no_prior(tmp_path: Path) -> None:
    Catalogue(["a"], [[1.0]], "cosine").save(tmp_path / "films")

    with pytest.raises(DataError, match="films: not a prior of variegate"):
        Prior.load(tmp_path / "films")


def altered(**changes: Any) -> bytes:
    """Return the bytes of the sample with other arrays, or other entries of its header."""
    with np.load(io.BytesIO(sample().to_bytes())) as stored:
        arrays = {name: stored[name] for name in stored.files}
    header = json.loads(arrays["header"].tobytes())
    for name, value in changes.items():
        place = arrays if name in arrays else header
        place.pop(name) if value is None else place.update({name: value})
    if "header" not in changes:
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"header": None}, "not a complete prior file: "),
        ({"header": np.frombuffer(b"[1]", dtype=np.uint8)}, "not a complete prior file: "),
        ({"format": "other"}, "not a prior of variegate"),
        ({"version": 2}, "version 2 of the prior format, and this variegate reads version 1"),
        ({"mean": None}, "not a complete prior file: no mean"),
        ({"noise": None}, "not a complete prior file: no noise"),
        ({"noise": -1.0}, "not a complete prior file: `noise` must be a number from 1e-30 to"),
        ({"users": "many"}, "not a complete prior file: `users` must be a whole number"),
        ({"distances": 3}, "not a complete prior file: "),
        ({"feature_names": ["π"]}, r"not a complete prior file: `mean` must have shape \(3,\)"),
        ({"covariance": np.zeros((4, 4))}, "variances from 1e-220 to"),
        ({"mean": np.array([1.0, np.nan, 0.0, 0.0])}, "`mean` must be finite"),
        ({"mean": np.array([{}, 1, 2, 3], dtype=object)}, "not a complete prior file: .*pickle"),
    ],
)
def test_a_file_that_says_something_else_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=f"stored: .*{words}|stored: {words}"):
        Prior.from_bytes(altered(**changes), where="stored")


def test_an_unaltered_file_is_taken() -> None:
    assert same(Prior.from_bytes(altered()), sample())


@given(st.integers(0, len(sample().to_bytes()) - 1))
def test_a_file_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DataError, match="prior: not a complete prior file"):
        Prior.from_bytes(sample().to_bytes()[:length])


@given(st.integers(0, len(sample().to_bytes()) - 1), st.integers(1, 255))
def test_a_file_with_a_wrong_byte_is_refused_or_read_right(place: int, change: int) -> None:
    damaged = bytearray(sample().to_bytes())
    damaged[place] ^= change

    with suppress(DataError):
        assert same(Prior.from_bytes(bytes(damaged)), sample())
