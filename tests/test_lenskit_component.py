"""The component for LensKit, in LensKit's own pipelines and evaluation."""

from typing import Any

import numpy as np
import pytest

from tests.extras import needs

pytestmark = needs("lenskit")

USERS, ITEMS = 120, 60


@pytest.fixture(scope="module")
def data() -> Any:
    """120 users of three kinds, each of whom likes items of a kind."""
    import pandas as pd
    from lenskit.data import from_interactions_df

    rng = np.random.default_rng(0)
    same = np.arange(USERS)[:, None] % 3 == np.arange(ITEMS) % 3
    users, items = np.nonzero(rng.random((USERS, ITEMS)) < np.where(same, 0.4, 0.03))
    return from_interactions_df(pd.DataFrame({"user_id": users, "item_id": items + 1000}))


def pipeline(**config: Any) -> Any:
    """Return LensKit's usual pipeline, in which the component is scorer and ranker."""
    from lenskit.basic import TrainingItemsCandidateSelector, UserTrainingHistoryLookup
    from lenskit.data import RecQuery
    from lenskit.pipeline import PipelineBuilder

    from variegate.lenskit_component import ListRecommender

    builder = PipelineBuilder()
    query, n = (
        builder.create_input("query", RecQuery, int, str),
        builder.create_input("n", int, None),
    )
    user = builder.add_component("user", UserTrainingHistoryLookup, query=query)
    items = builder.add_component("candidates", TrainingItemsCandidateSelector, query=user)
    lists = builder.add_component(
        "recommender", ListRecommender, config, query=user, items=items, n=n
    )
    builder.default_component(lists)
    return builder.build()


def test_lists_are_of_the_users_kind_and_new(data: Any) -> None:
    from lenskit import recommend

    pipe = pipeline(diversity=0.0)
    pipe.train(data)
    lists = {user: recommend(pipe, user, n=5) for user in range(30)}

    for user, found in lists.items():
        history = data.user_row(user).ids()
        assert len(found) == len(set(found.ids())) == 5
        assert found.ordered
        assert not set(found.ids()) & set(history)
    kinds = [(found.ids() - 1000) % 3 == user % 3 for user, found in lists.items()]
    assert np.mean(kinds) > 0.8


def test_more_diversity_shows_items_further_apart(data: Any) -> None:
    from lenskit import recommend

    kinds = []
    for diversity in (0.0, 5.0):
        pipe = pipeline(diversity=diversity)
        pipe.train(data)
        lists = [recommend(pipe, user, n=5).ids() for user in range(15)]
        kinds.append(np.mean([len(set((ids - 1000) % 3)) for ids in lists]))

    assert kinds[0] < kinds[1]


def test_unknown_user_gets_as_many_items_as_are_configured(data: Any) -> None:
    from lenskit import recommend

    pipe = pipeline(n=7)
    pipe.train(data)

    assert len(recommend(pipe, 999_999)) == 7


def test_candidates_are_all_that_is_chosen_from_and_may_be_few(data: Any) -> None:
    from lenskit.data import ItemList

    from variegate.lenskit_component import ListRecommender

    component = ListRecommender(n=10)
    component.train(data)

    few = ItemList(item_ids=[1000, 1001, 4711])
    assert set(component(999_999, few).ids()) == {1000, 1001}
    assert len(component(999_999, ItemList(item_ids=[4711]))) == 0


def test_trained_component_is_not_trained_again_unless_asked(data: Any) -> None:
    from lenskit.training import TrainingOptions

    from variegate.lenskit_component import ListRecommender

    component = ListRecommender()
    component.train(data)
    prior = component.prior

    component.train(data, TrainingOptions(retrain=False))
    assert component.prior is prior
    component.train(data)
    assert component.prior is not prior


def test_lenskit_measures_it_as_its_own(data: Any) -> None:
    from lenskit.batch import recommend as recommend_all
    from lenskit.metrics import NDCG, RunAnalysis
    from lenskit.splitting import SampleFrac, sample_users

    split = sample_users(data, 40, SampleFrac(0.5, rng=1), rng=2)
    pipe = pipeline(diversity=0.0)
    pipe.train(split.train)
    lists = recommend_all(pipe, split.test, n=10, n_jobs=1)

    analysis = RunAnalysis()
    analysis.add_metric(NDCG())
    summary = analysis.measure(lists, split.test).list_summary()

    assert summary.loc["NDCG", "mean"] > 0.3
