"""What a policy believes, in sentences that say no more than it knows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.demo.making import boxes, many_boxes
from variegate import LMDH, make_policy
from variegate.demo import (
    Session,
    Taste,
    WeightEstimate,
    describe_diversity,
    describe_diversity_weight,
    describe_taste,
    diversity_evidence,
    learnt_diversity,
    learnt_taste,
)


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


@pytest.mark.parametrize(
    ("beliefs", "words"),
    [
        ([], "How varied you like it is not clear yet."),
        ([unclear("size")], "How varied you like it is not clear yet."),
        ([WeightEstimate("size", 0.0, 0.0, 0.0)], "How varied you like it is not clear yet."),
        ([sure("colours", 0.5)], "You like a mix of colours."),
        ([sure("size", -0.5)], "You like lists alike in size."),
        (
            [sure("colours", 0.5), sure("shapes", 0.1), sure("size", -0.5)],
            "You like a mix of colours and shapes, alike in size.",
        ),
        ([leaning("size", -0.5)], "Perhaps you like lists alike in size."),
        (
            [sure("colours", 0.5), leaning("size", 0.3), unclear("price")],
            "You like a mix of colours. Perhaps you like a mix of size. "
            "What you want of price is not clear yet.",
        ),
        (
            [leaning("colours", 0.5), leaning("size", -0.3), unclear("price"), unclear("age")],
            "Perhaps you like a mix of colours, alike in size. "
            "What you want of price and age is not clear yet.",
        ),
    ],
)
def test_variety_in_words(beliefs: list[WeightEstimate], words: str) -> None:
    assert describe_diversity(beliefs) == words


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


@given(weights=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.0, 2.0)), min_size=1, max_size=5))
@settings(deadline=None, max_examples=80)
def test_every_distance_is_reported_of_and_sure_ones_alone_without_perhaps(
    weights: list[tuple[float, float]],
) -> None:
    beliefs = [
        WeightEstimate(f"kind{i}", w, w - half, w + half) for i, (w, half) in enumerate(weights)
    ]

    text = describe_diversity(beliefs)

    result = [sentence for sentence in text.split(". ") if sentence.startswith("You like")]
    named = {b.name for b in beliefs if any(b.name in sentence for sentence in result)}
    assert named == {b.name for b in beliefs if b.is_sure and b.strength >= 1 / 3}
    assert "How varied" in text or all(b.name in text for b in beliefs)


def test_a_name_on_two_lines_is_reported_on_one() -> None:
    assert describe_taste(Taste((sure("red\n  wine", 0.5),), (), ())) == "You like red wine."


def test_a_session_need_not_be_had() -> None:
    policy = LMDH(many_boxes(), ridge=4.0, exploration=0.3)
    assert (
        describe_diversity(learnt_diversity(policy)) == "How varied you like it is not clear yet."
    )
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

    assert (
        describe_diversity(learnt_diversity(policy)) == "How varied you like it is not clear yet."
    )


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
