"""What policies begin with, over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service

PATH = "/v1/policies/lmdp/prior"


@contextmanager
def calling(folder: Path) -> Iterator[Caller]:
    policies = {"lmdp": "lmdp", "mmr": "mmr"}
    with service(folder, policies=policies, split={"lmdp": 1}, prior_min_users=10) as whole:
        yield Caller(*whole)


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    with calling(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Return a caller of a service without users, whose priors nobody changes."""
    with calling(tmp_path_factory.mktemp("priors")) as made:
        yield made


def fill(caller: Caller, users: int = 10) -> None:
    """Let users like the first of three items."""
    for number in range(users):
        slate = caller.slate(f"user-{number}")
        body = {"rewards": {slate["items"][0]["id"]: 1.0}}
        caller.get("POST", f"/v1/slates/{slate['slate_id']}/feedback", body)


def test_it_is_reported_in_words_and_numbers(shared: Caller) -> None:
    result = shared.get("GET", PATH)

    assert (result["policy"], result["version"], result["fitted"], result["users"]) == (
        "lmdp",
        0,
        None,
        0,
    )
    assert result["words"][0] == "not fitted"
    assert [one["name"] for one in result["diversity"]] == ["cosine", "kinds", "colour", "price"]
    assert [one["mean"] for one in result["diversity"]] == pytest.approx([0.35 / 4] * 4)
    assert len(result["relevance"]) == 3


def test_it_is_fitted_and_given_up(caller: Caller) -> None:
    before = caller.get("GET", PATH)
    fill(caller)

    fitted = caller.get("POST", PATH)
    assert (fitted["version"], fitted["users"]) == (1, 10)
    assert fitted["words"][0] == "fitted to 10 users"
    assert caller.get("GET", PATH) == fitted
    assert caller.get("DELETE", PATH) == {**before, "version": 2}


def test_nothing_in_it_is_one_users(caller: Caller) -> None:
    fill(caller)

    fitted = caller.get("POST", PATH)

    assert set(fitted) == {
        "policy", "version", "fitted", "users", "words", "relevance", "diversity", "noise",
    }  # fmt: skip
    assert "user-" not in str(fitted)
    assert np.all([one["deviation"] > 0 for one in fitted["relevance"] + fitted["diversity"]])


def test_too_few_users_are_a_conflict(caller: Caller) -> None:
    fill(caller, 9)
    refused = error(caller.send("POST", PATH), 409)
    assert "at least 10 users with feedback, so that no single user is revealed" in refused
    assert "has 9: wait for more, or set `prior_min_users`" in refused


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(("name", "status"), [("mmr", 409), ("other", 404), ("a%20b", 422)])
def test_a_policy_without_one_has_none(shared: Caller, method: str, name: str, status: int) -> None:
    error(shared.send(method, f"/v1/policies/{name}/prior"), status)
