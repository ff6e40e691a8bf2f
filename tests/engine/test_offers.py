"""A ranker's candidates in the service: stored with the slate alone, repeated, exported."""

from typing import Any

import numpy as np
import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Shop, catalogue
from variegate import LMDP, open_catalogue
from variegate.engine.interactions import Interaction, LearnInteractions
from variegate.engine.log_reader import log_source
from variegate.engine.offers import ItemOffer
from variegate.engine.replay import relearn
from variegate.errors import ConflictError, DataError, InputError
from variegate.evaluation.offpolicy import evaluate_log
from variegate.model.constraints import Constraints
from variegate.model.distances import jaccard
from variegate.store import Store

N = 30
IDS = tuple(f"song {number}" for number in range(N))
RNG = np.random.default_rng(4)
SCORES = tuple(RNG.normal(50.0, 9.0, N).tolist())
VECTORS = RNG.normal(size=(N, 6)).astype(np.float32)
BRANDS = tuple(("us", "them", None)[number % 3] for number in range(N))
OFFER = ItemOffer(SCORES, {}, VECTORS.tobytes(), {"brand": BRANDS})
LMDP_ONLY = {"lmdp": "lmdp"}


def ranker(store: Store, **options: Any) -> Shop:
    return Shop(store, LMDP_ONLY, items=open_catalogue(), **options)


def ask(shop: Shop, user: str = "ann", **request: Any) -> dict[str, Any]:
    return shop.give(user, **{"candidates": IDS, "offer": OFFER, **request})


def test_a_list_and_what_is_learnt_from_it_are_those_of_the_library(store: Store) -> None:
    shop, policy = ranker(store), LMDP(open_catalogue())
    for place in (0, 2, 1):
        given = ask(shop)
        slate = policy.recommend(4, IDS, scores=SCORES, vectors=VECTORS)
        assert tuple(item["id"] for item in given["items"]) == slate.ids
        shop.tell(given["slate_id"], {slate.ids[place]: 1.0})
        policy.update(slate, np.eye(4)[place])
    learnt = shop.engine.user("ann")["learnt"]
    assert learnt["relevance"][0]["weight"] == policy.preferences.relevance[0]
    assert shop.check().wrong == ()


def test_nothing_is_stored_but_the_slate(store: Store) -> None:
    shop = ranker(store)
    row = shop.slate(ask(shop, exclude=("song 1", "unknown"))["slate_id"])
    assert row.terms == {"revision": "0", "offered": True}
    assert shop.user().shown == b""
    assert len(shop.user().state or b"") < 200


def test_the_same_items_can_be_shown_again(store: Store) -> None:
    shop = ranker(store)
    assert ask(shop)["items"] == ask(shop)["items"]


def test_conditions_and_constraints_are_about_the_attributes_of_the_request(store: Store) -> None:
    shop = ranker(store)
    given = ask(shop, where={"attribute": "brand", "=": "us"}, details=True, k=100)
    assert len(given["items"]) == N / 3
    assert all(item["attributes"] == {"brand": "us"} for item in given["items"])
    pinned = ask(shop, constraints=Constraints({"brand": 1}, pins={2: "song 0"}))
    assert pinned["items"][1]["id"] == "song 0"
    brands = [BRANDS[IDS.index(item["id"])] for item in pinned["items"]]
    assert brands.count("us") == 1


def test_what_was_unusual_about_scores_is_said_again_when_a_request_is_repeated(
    store: Store,
) -> None:
    shop = ranker(store)
    offer = ItemOffer((None, *SCORES[1:]), {}, OFFER.vectors)
    asked: dict[str, Any] = {"offer": offer, "idempotency_key": "once", "explain": True}
    first = ask(shop, **asked)
    assert first["notes"] == ["1 of 30 candidates has no score: it counts as the median"]
    assert ask(shop, **asked) == first
    other = ItemOffer(offer.scores, {}, (2 * VECTORS).tobytes())
    with pytest.raises(ConflictError, match="was used for another request"):
        ask(shop, **{**asked, "offer": other})


def test_an_open_store_survives_an_export(opening: Opening) -> None:
    shop, other = ranker(opening("sqlite")), ranker(opening("sqlite"))
    given = ask(shop, idempotency_key="once")
    shop.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})
    other.take_in(shop.exported())
    assert other.exported() == shop.exported()
    assert other.check().wrong == ()
    assert ask(other, idempotency_key="once") == given


def test_all_that_is_wrong_with_the_items_is_said_at_once(store: Store) -> None:
    items = open_catalogue(["age"], ["cosine", jaccard([], name="genres")])
    shop = Shop(store, LMDP_ONLY, items=items, max_candidates=20)
    with pytest.raises(InputError) as caught:
        ask(shop, offer=ItemOffer(SCORES, {"weight": (1.0,) * N}))
    assert str(caught.value) == (
        "`candidates` must be at most 20 items, got 30; `candidates.features` must be one of age, "
        "got 'weight'; `candidates.0.vector` is missing: the distance 'cosine' needs it; "
        "`candidates.0.attributes` must have 'genres': the distance needs it"
    )
    with pytest.raises(InputError, match="`candidates` must be the items to choose from"):
        shop.give()
    assert shop.engine.counts()["slates"] == 0


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"exclude": IDS}, "must leave an item to choose"),
        ({"where": {"attribute": "colour", "=": "red"}}, "`where` must name one of brand"),
        ({"offer": ItemOffer(SCORES, {"age": (1.0,) * N}, OFFER.vectors)}, "must be left out"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    store: Store, request_: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ask(ranker(store), **request_)


def test_an_attribute_of_the_wrong_kind_is_named(store: Store) -> None:
    shop = Shop(store, LMDP_ONLY, items=open_catalogue(distances=jaccard([], name="brand")))
    message = r"^`candidates\.0\.attributes\.brand` must be a list of labels, got 'us'"
    with pytest.raises(InputError, match=message):
        ask(shop, offer=ItemOffer(SCORES, {}, b"", {"brand": BRANDS}))
    with pytest.raises(InputError, match="vector` must be left out: no distance uses it"):
        ask(shop)


def test_a_policy_that_takes_no_scores_is_refused_at_the_start(store: Store) -> None:
    with pytest.raises(InputError, match="the policy mmr: a request's own items and scores need"):
        Shop(store, {"mmr": "mmr"}, items=open_catalogue())


def test_scores_of_items_in_a_catalogue_are_one_more_feature(store: Store) -> None:
    shop = Shop(store, LMDP_ONLY, items=catalogue().with_score(), mix=1.0)
    ids = ("i3", "gone", "i5", "i9", "i1", "i7")
    offer = ItemOffer((9.0, 99.0, 1.0, 3.0, None, 2.0))
    given = shop.give(k=2, candidates=ids, offer=offer)
    assert given["items"][0]["id"] == "i3"
    assert given["unknown_ids"] == ["gone"]
    assert given["notes"] == ["1 of 5 candidates has no score: it counts as the median"]
    row = shop.slate(given["slate_id"])
    assert (row.propensities, row.terms["offered"]) == (None, True)
    shop.tell(given["slate_id"], {"i3": 1.0})
    # Seen items are left out, and the others keep their scores.
    assert "i3" not in shop.ids(k=2, candidates=ids, offer=offer)
    assert shop.check().wrong == ()


def test_items_of_a_catalogue_bring_only_scores(shop: Shop) -> None:
    offer = ItemOffer((1.0, 2.0), {"fast": (1.0, 1.0)}, b"\0" * 8, {"year": (1, 2)})
    with pytest.raises(InputError) as caught:
        shop.give(candidates=("i1", "i2"), offer=offer)
    for name in ("features", "vector", "attributes", "score"):
        assert f"`candidates.0.{name}` must be left out" in str(caught.value)


def test_lists_with_scores_are_learnt_from_and_not_evaluated(store: Store) -> None:
    shop = ranker(store, mix=0.5)
    for user in ("ann", "bob"):
        given = ask(shop, user)
        shop.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})
    with pytest.raises(DataError, match="2 lists under constraints or with scores"):
        evaluate_log(log_source(shop.executor, "the log"), ["lmdh"])


def test_relearning_drops_lists_with_scores(store: Store) -> None:
    shop = Shop(store, LMDP_ONLY, items=catalogue().with_score())
    shop.click(candidates=("i1", "i2"), offer=ItemOffer((1.0, 2.0)))
    shop.click()
    done = relearn(store, catalogue(), shop.experiment, lambda _done: None)
    assert (done.lists, done.dropped) == (1, 1)


def test_events_need_items_of_a_catalogue(store: Store) -> None:
    with pytest.raises(InputError, match="the catalogue is open"):
        ranker(store).do(LearnInteractions("ann", (Interaction({"song 1": 1.0}),)))
