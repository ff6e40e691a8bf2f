"""A ranker's candidates over HTTP: read from JSON, refused with every field that is wrong."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.service.caller import Caller, error
from tests.service.whole import service, shop
from variegate import open_catalogue
from variegate.client import encoding
from variegate.model.distances import difference, jaccard

A = {"id": "a", "score": 7, "vector": [1.0, 0.0], "attributes": {"brand": "x"}}
B = {"id": "b", "score": 9, "vector": [0.0, 1.0]}
C = {"id": "c", "score": 8, "vector": [0.1, 1.0]}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    items, folder = open_catalogue(["age"]), tmp_path_factory.mktemp("open")
    with service(folder, items=items, page=False) as whole:
        yield Caller(*whole)


def ids(answer: dict[str, Any]) -> list[str]:
    return [item["id"] for item in answer["items"]]


def test_a_list_is_made_from_the_items_of_the_request(caller: Caller) -> None:
    body = {"k": 2, "candidates": [A, B, C], "details": True}
    answer = caller.get("POST", "/v1/users/ann/slates", body, status=201)
    assert ids(answer) == ["b", "a"]
    assert answer["items"][1]["attributes"] == {"brand": "x"}
    reward = {"rewards": {"a": 1.0}}
    caller.get("POST", f"/v1/slates/{answer['slate_id']}/feedback", reward)
    assert caller.get("GET", "/v1/users/ann")["learnt"]["words"]["likes"]
    (past,) = caller.get("GET", "/v1/users/ann/history")["slates"]
    assert [item["title"] for item in past["items"]] == ["b", "a"]


def test_vectors_can_be_base64_of_float32(caller: Caller) -> None:
    packed = [
        {**one, "vector": b64encode(np.array(one["vector"], "<f4").tobytes()).decode()}
        for one in (A, B, C)
    ]
    one, other = (
        caller.get("POST", "/v1/users/ben/slates", {"k": 3, "candidates": items}, status=201)
        for items in ([A, B, C], packed)
    )
    assert one["items"] == other["items"]


def test_the_client_packs_arrays_and_leaves_out_missing_scores() -> None:
    given = [{"id": "a", "score": float("nan"), "vector": np.array([1.0, 0.0])}]
    (item,) = encoding.plain_candidates(given)
    assert item == {"id": "a", "score": None, "vector": "AACAPwAAAAA="}


def test_missing_and_equal_scores_are_said(caller: Caller) -> None:
    items = [{**A, "score": None}, {**B, "score": 4}, {**C, "score": 4}]
    answer = caller.get("POST", "/v1/users/ben/slates", {"candidates": items}, status=201)
    assert answer["notes"] == [
        "1 of 3 candidates has no score: it counts as the median",
        "all scores are equal: they do not order the candidates",
    ]
    # Python's JSON has NaN.
    text = '{"candidates": [{"id": "a", "score": NaN, "vector": [1]}]}'
    answer = caller.get("POST", "/v1/users/ben/slates", text, status=201)
    assert answer["notes"] == ["1 of 1 candidates has no score: it counts as the median"]


@pytest.mark.parametrize(
    ("candidates", "messages"),
    [
        (
            [{"id": "a", "score": "x", "vector": [1, "y"], "features": {"age": 1e9}}, {"score": 1}],
            [
                "`candidates.0.score` must be a valid number, got 'x'",
                "`candidates.0.features.age` must be less than or equal to 1000000",
                "`candidates.0.vector.1` must be a valid number, got 'y'",
                "`candidates.1.id` is missing",
            ],
        ),
        (
            [A, A, {"id": "d", "vector": [1.0]}, {"id": "e"}],
            [
                "`candidates` must have distinct ids, got 'a' 2 times",
                "`candidates.2.vector` must have as many numbers as the longest, 2, got 1",
                "`candidates.3.vector` is missing, and others have one",
            ],
        ),
        ([{**A, "features": {"size": 1.0}}], ["`candidates.features` must be one of age, got"]),
        ([{**A, "vector": "AAAA"}], ["`candidates.0.vector` must be numbers, or base64 of"]),
        (
            [{**A, "vector": "AADAfw=="}],
            ["`candidates.0.vector` must be numbers, or base64 of"],
        ),
        ([A, "b"], ["`candidates.1` must be an object, got 'b'"]),
        (["b", A], ["`candidates.1` must be a valid string, got an object"]),
        (["b"], ["`candidates.0.vector` is missing: the distance 'cosine' needs it"]),
    ],
)
def test_every_field_that_is_wrong_is_named(
    caller: Caller, candidates: list[Any], messages: list[str]
) -> None:
    answer = caller.send("POST", "/v1/users/cyd/slates", {"candidates": candidates})
    for message in messages:
        assert message in error(answer, 422)


def test_candidates_are_refused_with_all_other_fields_that_are_wrong(caller: Caller) -> None:
    wrong = {
        "k": 101,
        "where": {"attribute": "size", "=": 1},
        "constraints": {"at_most": {"colour": 1}},
        "diversity": {"floor": 2, "ceiling": 1},
    }
    words = "`floor` must be at most `ceiling`, got 2.0 and 1.0; `k` must be from 1 to 100, got 101"
    answer = caller.send("POST", "/v1/users/cyd/slates", {**wrong, "candidates": [A, A]})
    assert error(answer, 422) == f"`candidates` must have distinct ids, got 'a' 2 times; {words}"
    answer = caller.send("POST", "/v1/users/cyd/slates", {**wrong, "candidates": [A, B]})
    assert error(answer, 422) == (
        f"{words}; `where` must name one of brand, got 'size'; `constraints.at_most` must name one "
        "of brand, got 'colour'"
    )


def test_values_that_no_distance_can_have_are_named_by_candidate(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    items = open_catalogue(distances=[jaccard([], name="tags"), difference([], name="year")])
    given = [
        {"id": "a", "attributes": {"tags": ["x"], "year": 1}},
        {"id": "b", "attributes": {"year": "old"}},
    ]
    with service(tmp_path_factory.mktemp("values"), items=items, page=False) as whole:
        answer = Caller(*whole).send("POST", "/v1/users/u/slates", {"candidates": given})
    assert error(answer, 422) == (
        "`candidates.1.attributes.tags` must be a list of labels, got null; "
        "`candidates.1.attributes.year` must be a number, got 'old'"
    )


def test_an_infinite_score_is_refused(caller: Caller) -> None:
    text = '{"candidates": [{"id": "a", "score": Infinity, "vector": [1]}]}'
    answer = caller.send("POST", "/v1/users/cyd/slates", text)
    assert error(answer, 422).startswith("`candidates.0.score`: must be finite, or null")


def test_scores_of_items_in_a_catalogue(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("scored")
    with service(folder, items=shop().with_score(), policies={"a": "lmdp"}) as whole:
        caller = Caller(*whole)
        items = [{"id": f"item-{number}", "score": 9.0 * (number == 4)} for number in range(6)]
        body = {"k": 1, "candidates": [*items, {"id": "gone"}]}
        answer = caller.get("POST", "/v1/users/ann/slates", body, status=201)
        assert (ids(answer), answer["unknown_ids"]) == (["item-4"], ["gone"])
        refused = caller.send("POST", "/v1/users/ann/slates", {"candidates": [A]})
        assert "`candidates.0.vector` must be left out" in error(refused, 422)
        refused = caller.send("POST", "/v1/users/ann/slates", {**body, "strict": True})
        assert "`candidates` must be known ids with `strict`, got 'gone'" in error(refused, 422)
