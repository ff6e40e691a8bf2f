"""Lists of many users at once are those of each user alone."""

import numpy as np
import pytest

from variegate import Catalogue, Policy, Recommender, make_policy
from variegate.errors import InputError
from variegate.kernels.lmdh import lmdh_lists
from variegate.policies import batch
from variegate.policies.batch import recommend_many

RNG = np.random.default_rng(8)
ITEMS = Catalogue(range(2000), RNG.uniform(-1.0, 1.0, (2000, 4)), ["cosine", "euclidean"])


def users(name: str, count: int, **options: object) -> list[Policy]:
    """Return policies that have learnt from different numbers of lists."""
    found = [make_policy(name, ITEMS, **options) for _ in range(count)]
    for lists, policy in enumerate(found):
        for _ in range(lists % 4):
            policy.update(policy.recommend(5, rng=0), RNG.integers(0, 2, 5))
    return found


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", ["lmdh", "lmdp", "c2ucb"])
def test_lists_of_many_are_those_of_each(
    name: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "AT_A_TIME", 4)
    policies, candidates = users(name, 11), RNG.random(len(ITEMS)) < 0.6

    together = recommend_many(policies, 7, candidates, [3, 5], workers=workers)

    for slate, policy in zip(together, policies, strict=True):
        alone = policy.recommend(7, candidates, [3, 5])
        assert slate.ids == alone.ids
        np.testing.assert_array_equal(slate.scores, alone.scores)
        np.testing.assert_array_equal(slate.diversity, alone.diversity)
        np.testing.assert_array_equal(slate.relevance, alone.relevance)


@pytest.mark.parametrize("options", [{"search": "local"}, {"exploration": 1e40}])
def test_lists_that_compiled_loops_cannot_select_are_the_references(
    options: dict[str, object],
) -> None:
    policies = users("lmdh", 2, **options)

    together = recommend_many(policies, 3, range(20))

    assert [slate.ids for slate in together] == [p.recommend(3, range(20)).ids for p in policies]


def test_no_users_have_no_lists() -> None:
    assert recommend_many([], 3) == []


@pytest.mark.parametrize(
    ("k", "workers", "message"),
    [(2001, 1, "`k` must be from 1 to 2000"), (3, 0, "`workers` must be from 1 to 1024")],
)
def test_wrong_numbers_are_an_error(k: int, workers: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        recommend_many(users("lmdh", 2), k, workers=workers)


def test_arrays_of_other_sizes_are_an_error() -> None:
    layout = ITEMS.layout
    assert layout is not None
    with pytest.raises(InputError, match="6 weights for each of 2 users, got 3, 2000 and "):
        lmdh_lists(
            layout,
            np.ones(2000, dtype=np.bool_),
            np.zeros((2, 6)),
            np.zeros((2, 5, 5)),
            np.zeros(2),
            np.ones(3),
        )


@pytest.mark.parametrize("policy", ["lmdh", "comblints"])
def test_a_recommender_makes_the_lists_that_it_makes_one_by_one(policy: str) -> None:
    one, many = (Recommender(ITEMS, policy, seed=4) for _ in range(2))

    slates = many.recommend_many(["ana", 7, "ben"], k=4, exclude=[0], workers=2)

    expected = [one.recommend(user, 4, exclude=[0]) for user in ("ana", 7, "ben")]
    assert [slate.ids for slate in slates] == [slate.ids for slate in expected]
    assert [slate.user_id for slate in slates] == ["ana", "7", "ben"]
    assert list(many.users) == ["ana", "7", "ben"]
