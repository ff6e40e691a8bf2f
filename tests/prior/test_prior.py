"""A prior: what it must be, and its file."""

import copy
import io
import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.prior.making import made_catalogue, plain_prior, population
from variegate import Catalogue
from variegate.errors import DataError, InputError
from variegate.model.distances import cosine, difference
from variegate.prior import Prior


def two_distances() -> Prior:
    truth = population(4)
    return Prior(truth.mean, truth.covariance, 0.1, ("a", "b"), ("cosine", "years"), 7)


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 10_000), st.floats(1e-3, 10.0))
def test_the_precision_is_noise_over_covariance(d: int, m: int, seed: int, noise: float) -> None:
    truth = population(d + m, seed=seed)
    names = tuple(map(str, range(d)))
    prior = Prior(truth.mean, truth.covariance, noise, names, tuple(map(str, range(m))))

    assert np.array_equal(prior.precision, prior.precision.T)
    np.testing.assert_allclose(
        prior.precision @ prior.covariance, noise * np.eye(d + m), atol=1e-10 * noise
    )


def test_weights_of_very_different_sizes_make_a_sound_precision() -> None:
    sizes = np.array([1e-60, 1.0, 1e60])
    correlations = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.5], [0.2, 0.5, 1.0]])

    prior = Prior(np.zeros(3), correlations * np.outer(sizes, sizes), 1.0, ("a", "b", "c"), ())

    np.testing.assert_allclose(
        prior.precision * np.outer(sizes, sizes), np.linalg.inv(correlations), rtol=1e-12
    )


def test_a_prior_cannot_be_written_to() -> None:
    mean = np.zeros(5)
    prior = plain_prior(4)
    mine = Prior(mean, np.eye(5), 1.0, prior.feature_names, prior.distances)
    mean[0] = 9.0

    assert mine.mean[0] == 0.0
    for array in (mine.mean, mine.covariance, mine.precision):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])  # noqa: S301
def test_a_prior_goes_to_other_processes(copied: Any) -> None:
    prior = two_distances()

    assert np.array_equal(copied(prior).precision, prior.precision)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"mean": [0.0]}, r"`mean` must have shape \(2,\), got \(1,\)"),
        ({"mean": [0.0, np.nan]}, r"`mean` must be finite, got nan at \[1\]"),
        ({"covariance": np.eye(3)}, r"`covariance` must have shape \(2, 2\), got \(3, 3\)"),
        ({"covariance": np.diag([1.0, 0.0])}, r"variances from 1e-220 to 1e\+120, got 0\.0 at 1"),
        ({"covariance": [[1.0, 0.5], [0.4, 1.0]]}, "`covariance` must be symmetric"),
        ({"covariance": np.ones((2, 2))}, "`covariance` must be positive definite"),
        ({"covariance": [[1.0, 2.0], [2.0, 1.0]]}, "positive definite, .* eigenvalue of -1"),
        ({"noise": 0.0}, r"`noise` must be a number from 1e-30 to 1e\+30, got 0\.0"),
        ({"noise": np.inf}, r"`noise` must be a number from 1e-30 to 1e\+30, got inf"),
        ({"users": -1}, "`users` must be a whole number of at least 0, got -1"),
        ({"users": 1.5}, "`users` must be a whole number of at least 0, got 1.5"),
        ({"feature_names": (), "distances": ()}, "`feature_names` must name at least one"),
    ],
)
def test_numbers_that_make_no_prior_are_refused(changed: dict[str, Any], words: str) -> None:
    sound: dict[str, Any] = {
        "mean": [0.0, 0.0],
        "covariance": np.eye(2),
        "noise": 1.0,
        "feature_names": ("a",),
        "distances": ("cosine",),
        "users": 0,
    }
    Prior(**sound)

    with pytest.raises(InputError, match=words):
        Prior(**{**sound, **changed})


def test_a_prior_fits_the_catalogue_it_is_of() -> None:
    catalogue = made_catalogue(d=3)

    plain_prior(3).check(catalogue)

    with pytest.raises(InputError, match=r"have the 3 features of Catalogue.*, got one of 4"):
        plain_prior(4).check(catalogue)
    with pytest.raises(InputError, match=r"have the 1 distances of Catalogue.*, got one of 2"):
        plain_prior(3, 2).check(catalogue)


def test_a_prior_of_other_names_does_not_fit() -> None:
    catalogue = Catalogue(
        [1, 2],
        [[1.0, 0.0], [0.0, 1.0]],
        [cosine(), difference([1, 2], name="years")],
        feature_names=["a", "b"],
    )
    prior = two_distances()
    prior.check(catalogue)
    turned = Prior(prior.mean, prior.covariance, 1.0, ("b", "a"), prior.distances)
    elsewhere = Prior(prior.mean, prior.covariance, 1.0, ("a", "b"), ("cosine", "genres"))

    with pytest.raises(InputError, match=r"features of .*, with 'b' in place of 'a' at 0"):
        turned.check(catalogue)
    with pytest.raises(
        InputError, match=r"distances of .*, with 'genres' in place of 'years' at 1"
    ):
        elsewhere.check(catalogue)


def sample(m: int = 2) -> Prior:
    truth, distances = population(2 + m), ("cosine", "年")[:m]
    return Prior(truth.mean, truth.covariance, 0.1, ("π", "popularity"), distances, 754)


def same(one: Prior, other: Prior) -> bool:
    return (
        np.array_equal(one.mean, other.mean)
        and np.array_equal(one.covariance, other.covariance)
        and (one.noise, one.feature_names, one.distances, one.users)
        == (other.noise, other.feature_names, other.distances, other.users)
    )


@pytest.mark.parametrize("prior", [sample(), sample(m=0)], ids=["whole", "m = 0"])
def test_what_is_loaded_is_what_was_saved(tmp_path: Path, prior: Prior) -> None:
    prior.save(tmp_path / "a.prior")

    assert same(Prior.load(str(tmp_path / "a.prior")), prior)
    assert same(Prior.from_bytes(prior.to_bytes()), prior)
    assert [file.name for file in tmp_path.iterdir()] == ["a.prior"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"missing\.prior: no such file"):
        Prior.load(tmp_path / "missing.prior")
    with pytest.raises(DataError, match="expected a file, got a folder"):
        Prior.load(tmp_path)
    with pytest.raises(DataError, match=r"missing/a\.prior: cannot be written"):
        sample().save(tmp_path / "missing" / "a.prior")


def test_a_catalogue_is_no_prior(tmp_path: Path) -> None:
    Catalogue(["a"], [[1.0]], "cosine").save(tmp_path / "films")

    with pytest.raises(DataError, match="films: not a file of variegate's prior format"):
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
        ({"format": "other"}, "not a file of variegate's prior format"),
        ({"version": 1}, "version 1 of the prior format, and this variegate reads version 2"),
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
