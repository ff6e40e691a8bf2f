"""What a policy believes, in sentences that say no more than it knows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from tests.demo.making import boxes, many_boxes
from variegate import LMDH, LMDP, Catalogue, make_policy
from variegate.data import film_catalogue
from variegate.demo import (
    Session,
    Statement,
    Taste,
    TotalDiversity,
    WeightEstimate,
    describe_diversity,
    describe_diversity_weight,
    describe_taste,
    describe_total_diversity,
    diversity_evidence,
    learnt_diversity,
    learnt_taste,
    learnt_total_diversity,
)
from variegate.model.distances import difference
from variegate.prior import Prior, default_prior


def sure(name: str, weight: float) -> WeightEstimate:
    return WeightEstimate(name, weight, weight - abs(weight) / 2, weight + abs(weight) / 2)


def leaning(name: str, weight: float) -> WeightEstimate:
    return WeightEstimate(name, weight, weight - 2 * abs(weight), weight + 2 * abs(weight))


def unclear(name: str) -> WeightEstimate:
    return WeightEstimate(name, 0.1, -0.9, 1.1)


@pytest.mark.parametrize(
    ("taste", "words"),
    [
        (Taste((), (), ()), "What you like is not clear yet."),
        (Taste((sure("red", 0.5),), (), ()), "You like red."),
        (Taste((), (sure("blue", -0.5),), ()), "You skip blue."),
        (
            Taste((sure("red", 0.5), sure("tea", 0.4), sure("jam", 0.2)), (sure("oak", -1.0),), ()),
            "You like red, tea and jam and skip oak.",
        ),
        (Taste((), (), (leaning("red", 0.5),)), "Perhaps you like red."),
        (
            Taste((sure("red", 0.5),), (), (leaning("tea", 0.4), leaning("oak", -0.2))),
            "You like red. Perhaps you like tea and skip oak.",
        ),
    ],
)
def test_taste_in_words(taste: Taste, words: str) -> None:
    assert describe_taste(taste) == words


VARIED = TotalDiversity(0.6, 0.2, 1.0, positive=0.98)
UNKNOWN = TotalDiversity(0.1, -0.4, 0.6)


@pytest.mark.parametrize(
    ("positive", "below_prior", "statement", "words"),
    [
        (0.5, 0.5, None, "How varied you like it is not clear yet."),
        (0.79, 0.79, None, "How varied you like it is not clear yet."),
        (0.96, 0.2, Statement.VARIED, "You like varied lists (96% sure)."),
        (0.9, 0.2, Statement.VARIED, "Perhaps you like varied lists (90% sure)."),
        (0.96, 0.9, Statement.VARIED, "You like varied lists (96% sure)."),
        (0.5, 0.96, Statement.LESS, "You like less variety than most (96% sure)."),
        (0.9, 0.96, Statement.LESS, "You like less variety than most (96% sure)."),
        (0.5, 0.85, Statement.LESS, "Perhaps you like less variety than most (85% sure)."),
        (0.97, 0.99, Statement.SOME, "You like some variety, but less than most (97% sure)."),
        (0.03, 0.99, Statement.SIMILAR, "You like lists of similar items (97% sure)."),
        (1.0, 0.0, Statement.VARIED, "You like varied lists (99% sure)."),
    ],
)
def test_total_in_words(
    positive: float, below_prior: float, statement: Statement | None, words: str
) -> None:
    total = TotalDiversity(0.2, -0.2, 0.6, positive, below_prior)

    assert total.statement is statement
    assert total.is_sure == words.startswith("You")
    assert describe_total_diversity(total) == words


@pytest.mark.parametrize(
    ("total", "beliefs", "words"),
    [
        (UNKNOWN, [], "How varied you like it is not clear yet."),
        (UNKNOWN, [unclear("size"), unclear("age")], "How varied you like it is not clear yet."),
        (VARIED, [sure("size", 0.5)], "You like varied lists (98% sure)."),
        (
            VARIED,
            [sure("colours", 0.5), sure("shapes", 0.1), sure("size", -0.5), unclear("price")],
            "You like varied lists (98% sure). "
            "You like a mix of colours and shapes, alike in size.",
        ),
        (
            UNKNOWN,
            [leaning("colours", 0.5), leaning("size", -0.3)],
            "How varied you like it is not clear yet. "
            "Perhaps you like a mix of colours, alike in size.",
        ),
        (
            VARIED,
            [sure("colours", 0.5), leaning("size", 0.3)],
            "You like varied lists (98% sure). You like a mix of colours. "
            "Perhaps you like a mix of size.",
        ),
        (
            VARIED,
            [sure("size", -0.5), unclear("price")],
            "You like varied lists (98% sure). You like lists alike in size.",
        ),
    ],
)
def test_variety_in_words(total: TotalDiversity, beliefs: list[WeightEstimate], words: str) -> None:
    assert describe_diversity(total, beliefs) == words


@pytest.mark.parametrize(
    ("belief", "words"),
    [
        (sure("size", 0.5), "more variety"),
        (sure("size", -0.5), "less variety"),
        (leaning("size", 0.5), "perhaps more variety"),
        (leaning("size", -0.5), "perhaps less variety"),
        (unclear("size"), "not clear yet"),
    ],
)
def test_one_preference_in_words(belief: WeightEstimate, words: str) -> None:
    assert describe_diversity_weight(belief) == words


@given(
    weights=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.0, 2.0)), min_size=2, max_size=5),
    total=st.sampled_from([VARIED, UNKNOWN]),
)
@settings(deadline=None, max_examples=80)
def test_known_distances_are_reported_and_sure_ones_alone_without_perhaps(
    weights: list[tuple[float, float]], total: TotalDiversity
) -> None:
    beliefs = [
        WeightEstimate(f"kind{i}", w, w - half, w + half) for i, (w, half) in enumerate(weights)
    ]

    first, *sentences = describe_diversity(total, beliefs).split(". ")

    assert f"{first}.".startswith(describe_total_diversity(total).removesuffix("."))
    without_perhaps = [text for text in sentences if text.startswith("You like")]
    named = {b.name for b in beliefs if any(b.name in text for text in without_perhaps)}
    assert named == {b.name for b in beliefs if b.is_sure and b.strength >= 1 / 3}
    named = {b.name for b in beliefs if any(b.name in text for text in sentences)}
    assert named == {b.name for b in beliefs if b.strength >= 1 / 3}


def test_a_name_on_two_lines_is_reported_on_one() -> None:
    assert describe_taste(Taste((sure("red\n  wine", 0.5),), (), ())) == "You like red wine."


def test_a_session_need_not_be_had() -> None:
    policy = LMDH(many_boxes(), ridge=4.0, exploration=0.3)
    assert learnt_total_diversity(policy).statement is None
    assert describe_taste(learnt_taste(policy)) == "What you like is not clear yet."
    for _ in range(6):
        slate = policy.recommend(4)
        policy.update(slate, [int(item) % 2 == 0 for item in slate.ids])

    assert describe_taste(learnt_taste(policy)).startswith("You like red.")


def test_beliefs_of_variety_are_those_of_the_session() -> None:
    session = Session(LMDH(boxes(), ridge=1.0), k=6)
    session.answer([1, 2])

    assert learnt_diversity(session.policy) == tuple(v.weight for v in diversity_evidence(session))
    assert [belief.name for belief in learnt_diversity(session.policy)] == ["colours", "size"]


def test_a_policy_without_weights_has_nothing_to_say() -> None:
    policy = make_policy("popular", boxes())

    words = describe_diversity(learnt_total_diversity(policy), learnt_diversity(policy))

    assert words == "How varied you like it is not clear yet."


@pytest.mark.parametrize(
    ("weight", "before", "is_sure", "result"),
    [
        (0.5, 0.5, False, "not clear yet"),  # nothing was learnt
        (0.5, 0.3, True, "more variety"),
        (0.5, 0.7, True, "more variety"),  # less than most, yet surely some
        (0.2, 0.0, False, "perhaps more variety"),
        (0.2, 0.05, False, "perhaps more variety"),
        (0.2, 0.19, False, "not clear yet"),  # that is what most want
        (0.2, 0.35, False, "not clear yet"),  # what was seen speaks against it
        (-0.2, 0.35, False, "perhaps less variety"),
    ],
)
def test_what_others_want_is_not_reported_as_learnt(
    weight: float, before: float, is_sure: bool, result: str
) -> None:
    belief = WeightEstimate("genres", weight, weight - 0.4, weight + 0.4, before)

    assert belief.is_sure == is_sure
    assert describe_diversity_weight(belief) == result


def test_a_user_who_picks_only_new_genres_is_told_so_by_the_fifth_list() -> None:
    # Each of the four distances overlaps with the others, and none alone was ever clear.
    films = film_catalogue()
    genres = [frozenset(labels) for labels in films.attributes["genres"]]
    session = Session(LMDP(films))
    said = []
    for _ in range(5):
        rows, above, picks = session.slate().items, set[str](), []
        for place, row in enumerate(rows):
            if place and not genres[row] & above:
                picks.append(place)
            above |= genres[row]
        session.answer(picks)
        said.append(describe_total_diversity(learnt_total_diversity(session.policy)))

    assert said[-1].startswith("You like varied lists (9")
    low, _high = session.policy.preferences.total_diversity_interval
    assert low > 0.0


@pytest.mark.parametrize("beta", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("variance", [1e-4, 0.05, 1.0])
def test_a_prior_alone_says_nothing_of_the_total(beta: float, variance: float) -> None:
    prior = default_prior(boxes(), beta=beta, beta_variance=variance)
    policy = LMDP(boxes(), prior=prior)

    assert learnt_total_diversity(policy).statement is None
    policy.update(policy.recommend(1), [1])  # the first item has no distance to any above it
    assert learnt_total_diversity(policy).statement is None


def test_the_probabilities_are_those_of_the_feedback_without_the_prior() -> None:
    # One distance and no other weight that matters: the feedback alone is plain least squares.
    items = Catalogue(range(20), np.zeros((20, 1)), [difference(np.arange(20.0), name="size")])
    prior = Prior(np.array([0.0, 0.3]), np.diag([1.0, 0.04]), 0.2, items.feature_names, ("size",))
    policy = LMDP(items, prior=prior)
    slate = policy.recommend(8)
    policy.update(slate, [0, 1, 1, 0, 1, 0, 0, 1])

    found = learnt_total_diversity(policy)

    x = slate.diversity[:, 0]
    mean, deviation = x @ [0, 1, 1, 0, 1, 0, 0, 1] / (x @ x), np.sqrt(0.2 / (x @ x))
    assert found.positive == pytest.approx(norm.cdf(mean / deviation))
    assert found.below_prior == pytest.approx(norm.cdf((0.3 - mean) / deviation))


def test_picking_much_is_not_a_wish_for_variety() -> None:
    films, said = film_catalogue(), []
    for user in range(20):
        rng, session = np.random.default_rng(user), Session(LMDP(films))
        for _ in range(10):
            session.slate()
            session.answer(np.flatnonzero(rng.random(10) < 0.5).tolist())
        total = learnt_total_diversity(session.policy)
        said.append(total.statement if total.is_sure else None)

    assert said.count(Statement.VARIED) <= 5


def test_features_without_a_name_are_described_by_titles() -> None:
    side = np.where(np.arange(6) < 3, 1.0, -1.0)
    items = Catalogue(boxes().ids, side[:, None], "euclidean", titles=boxes().titles)
    session = Session(LMDH(items, ridge=0.1), k=3)
    session.answer([0])

    taste = learnt_taste(session.policy)

    names = " ".join(weight.name for weight in (*taste.likes, *taste.avoids, *taste.leans))
    assert "items like red" in names or "items like blue" in names
    assert "feature" not in names
