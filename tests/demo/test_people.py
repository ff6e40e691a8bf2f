"""Simulated users and the bundled films: lists follow their taste, and descriptions are true."""

from collections.abc import Callable

import numpy as np
import pytest

from variegate import LMDH, Catalogue
from variegate.cli.try_ import EXPLORATION, RIDGE
from variegate.data.films import film_catalogue
from variegate.demo import Contrast, Session, diversity_evidence, learnt_taste

#: Whether a person picks the film in this row, given the rows above it.
Person = Callable[[Catalogue, int, list[int]], bool]


@pytest.fixture(scope="module")
def films() -> Catalogue:
    pytest.importorskip("bokeh_sampledata", reason="the extra `films` is not installed")
    return film_catalogue()


def genres(films: Catalogue, row: int) -> set[str]:
    return set(films.attributes["genres"][row])


def science_fiction(films: Catalogue, row: int, _above: list[int]) -> bool:
    return "Sci-Fi" in genres(films, row)


def french(films: Catalogue, row: int, _above: list[int]) -> bool:
    return "France" in films.attributes["countries"][row]


def old_romances(films: Catalogue, row: int, _above: list[int]) -> bool:
    return "Romance" in genres(films, row) and films.attributes["year"][row] < 1970


def nothing_alike(films: Catalogue, row: int, above: list[int]) -> bool:
    return not any(genres(films, row) & genres(films, other) for other in above)


def one_kind(films: Catalogue, row: int, above: list[int]) -> bool:
    own = genres(films, row)
    return any(len(own & genres(films, o)) >= 0.5 * len(own | genres(films, o)) for o in above)


def played(films: Catalogue, person: Person, lists: int) -> Session:
    session = Session(LMDH(films, ridge=RIDGE, exploration=EXPLORATION))
    for _ in range(lists):
        rows = [int(row) for row in session.slate().items]
        session.answer([p for p, row in enumerate(rows) if person(films, row, rows[:p])])
    return session


@pytest.mark.parametrize(
    ("person", "name"),
    [(science_fiction, "Sci-Fi"), (french, "France"), (old_romances, "Romance")],
)
def test_lists_turn_to_a_person_and_the_reason_is_named(
    films: Catalogue, person: Person, name: str
) -> None:
    session = played(films, person, 6)

    assert sum(session.hits[3:]) >= 20
    assert sum(session.hits[3:]) > 2 * sum(session.hits[:2])
    assert learnt_taste(session.policy).likes[0].name == name


def test_who_picks_only_what_is_unlike_the_rest_is_seen_to(films: Catalogue) -> None:
    by_name = {
        variety.name: variety for variety in diversity_evidence(played(films, nothing_alike, 12))
    }

    assert by_name["genres"].contrast is Contrast.FARTHER
    assert by_name["genres"].weight.weight > 0
    assert by_name["features"].weight.weight > 0


def test_who_picks_one_kind_is_seen_to(films: Catalogue) -> None:
    by_name = {variety.name: variety for variety in diversity_evidence(played(films, one_kind, 12))}

    assert by_name["genres"].contrast is Contrast.CLOSER
    assert by_name["genres"].weight.weight < 0


@pytest.mark.parametrize("seed", range(4))
def test_of_who_picks_at_random_no_contrast_is_made_up(films: Catalogue, seed: int) -> None:
    rng = np.random.default_rng(seed)

    session = played(films, lambda *_: bool(rng.random() < 0.3), 6)

    assert {variety.contrast for variety in diversity_evidence(session)} == {Contrast.SAME}
