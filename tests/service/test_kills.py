"""A service that is killed in the midst of load loses nothing; and the check of that can fail."""

import asyncio
import shutil
import sqlite3
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from tools.soak.audit import Notebook, Sent
from tools.soak.clients import crowd_of, loaded
from tools.soak.process import started
from tools.soak.results import Plan
from tools.soak.run import Looking, settings_of, soaked
from variegate.engine.settings import Settings
from variegate.errors import InputError
from variegate.policies import State


@pytest.mark.slow
def test_kills_lose_nothing_and_count_nothing_twice(url: str) -> None:
    # With an engine process and without; `python -m tools.soak` kills as often as you like.
    plan = Plan(kills=6, longest=0.5, seed=6, engine_process=url.startswith("sqlite"))

    soak = soaked(url, plan)

    assert soak.wrong == []
    assert len(soak.kills) == 6
    assert all(kill.audit.facts == () and kill.audit.largest <= 1e-9 for kill in soak.kills)
    assert sum(kill.under_way > 0 for kill in soak.kills) >= 4
    assert soak.kills[-1].reports > 30
    assert soak.notebook.repeated > 2


@pytest.mark.slow
def test_kills_of_several_processes_at_once_lose_nothing(postgres_url: str) -> None:
    soak = soaked(
        postgres_url, Plan(kills=2, workers=2, users=5, shortest=1.0, longest=1.5, seed=6)
    )

    assert soak.wrong == []
    assert len(soak.kills) == 2
    assert soak.kills[-1].reports > 10


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Notebook]:
    """Return a file that a service has written, and what its clients received."""
    folder = tmp_path_factory.mktemp("kept")
    book, plan = Notebook(), Plan(clients=4, users=5)

    async def enough() -> None:
        while len(book.acknowledged) < 40 or not book.repeated:
            await asyncio.sleep(0)

    settings = settings_of(f"sqlite:///{folder}/kept.db", folder)
    with started(settings, str(folder)) as process:
        crowd = crowd_of(process.address, book, plan)
        asyncio.run(loaded(crowd, enough, process.ask_to_stop))
        assert process.wait() == 0
    return folder / "kept.db", book


@pytest.fixture
def path(kept: tuple[Path, Notebook], tmp_path: Path) -> Path:
    """Return a copy of the file to tamper with."""
    return Path(shutil.copy(kept[0], tmp_path / "copy.db"))


@pytest.fixture
def book(kept: tuple[Path, Notebook]) -> Notebook:
    return deepcopy(kept[1])


@pytest.fixture
def settings(path: Path, tmp_path: Path) -> Settings:
    return settings_of(f"sqlite:///{path}", tmp_path)


def facts(settings: Settings, book: Notebook) -> str:
    return "\n".join(Looking(settings)(book).facts)


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


def test_store_that_was_left_alone_is_in_order(settings: Settings, book: Notebook) -> None:
    audit = Looking(settings)(book)

    assert audit.facts == ()
    assert audit.events >= len(book.acknowledged) >= 40
    assert audit.largest <= 1e-9
    assert book.problems == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        pytest.param(
            "INSERT INTO events (time, user_id, slate_id, kind, body) SELECT time, user_id, "
            "slate_id, kind, body FROM events ORDER BY seq LIMIT 1",
            ["is in the log 2 times", "has taught twice", "the state is not what the log says"],
            id="event-doubled",
        ),
        pytest.param(
            "DELETE FROM events WHERE seq = (SELECT min(seq) FROM events)",
            ["was acknowledged, and is lost", "the rewards are not what the log says"],
            id="event-lost",
        ),
        pytest.param(
            "UPDATE events SET body = replace(body, 'learnt', 'late')",
            ["was answered otherwise than the log has it"],
            id="event-changed",
        ),
        pytest.param(
            "DELETE FROM slates WHERE id = (SELECT slate_id FROM events LIMIT 1)",
            ["was given, and is lost", "which is not there", "and has "],
            id="list-lost",
        ),
        pytest.param(
            'UPDATE slates SET items = \'["1","2","3","4","5"]\'',
            ["is not the one that was given"],
            id="list-changed",
        ),
        pytest.param(
            "UPDATE slates SET reports = '{}' WHERE answered",
            ["0 reports, and"],
            id="half-a-report",
        ),
        pytest.param(
            "UPDATE slates SET taught = '[false,false,false,false,false]' WHERE answered",
            ["what has taught is not what the log says"],
            id="half-a-lesson",
        ),
        pytest.param(
            "UPDATE users SET state = NULL", ["the state is not what the log says"], id="state-lost"
        ),
        pytest.param("UPDATE users SET slates = 999", ["counts 999 lists"], id="miscounted"),
        pytest.param(
            "UPDATE users SET version = 999", ["have changed 999 times"], id="changed-too-often"
        ),
    ],
)
def test_store_that_was_tampered_with_is_found_out(
    path: Path, settings: Settings, book: Notebook, statement: str, found: list[str]
) -> None:
    change(path, statement)

    result = facts(settings, book)

    assert [words for words in found if words not in result] == []


@pytest.mark.parametrize(("by", "is_wrong"), [(1e-6, True), (1e-8, True), (1e-13, False)])
def test_state_is_held_to_nine_digits(
    path: Path, settings: Settings, book: Notebook, by: float, is_wrong: bool
) -> None:
    with sqlite3.connect(path) as connection:
        query = "SELECT id, state FROM users WHERE state IS NOT NULL LIMIT 1"
        user, kept = connection.execute(query).fetchone()
    connection.close()
    state = State.from_bytes(kept)
    name = next(iter(state.arrays))
    moved = {**state.arrays, name: np.asarray(state.arrays[name]) + by}
    changed = State(state.policy, moved, state.version).to_bytes()
    change(path, "UPDATE users SET state = ? WHERE id = ?", changed, user)

    assert facts(settings, book) == (
        f"user {user!r}: the state is not what the log says" if is_wrong else ""
    )


def test_report_that_nobody_sent_is_found_out(settings: Settings, book: Notebook) -> None:
    del book.acknowledged[next(iter(book.acknowledged))]

    assert facts(settings, book).endswith("is in the log, and nobody sent it")


def test_report_that_was_not_answered_may_be_there(settings: Settings, book: Notebook) -> None:
    report = next(iter(book.acknowledged))
    del book.acknowledged[report]
    book.doubtful[report] = None

    audit = Looking(settings)(book)

    assert (audit.facts, audit.unasked) == ((), 1)


def test_answer_that_changes_is_a_problem(book: Notebook) -> None:
    report = next(iter(book.acknowledged))

    book.report_answered(report, 200, b'{"status": "late"}')

    assert "and again {'status': 'late'}" in book.problems[0]


def test_refusal_is_a_problem_and_a_store_that_is_away_is_not() -> None:
    book, report = Notebook(), Sent("01", (), None, None)
    book.sending(report)
    book.report_answered(report, 503, b"")
    assert (book.problems, book.unavailable, list(book.doubtful)) == ([], 1, [report])

    book.report_answered(report, 500, b"oh")

    assert book.problems == ["a report on 01 was answered 500: oh"]


def test_store_that_others_use_is_not_soaked(path: Path) -> None:
    with pytest.raises(InputError, match="`store` must be an empty one, got one with 5 users"):
        soaked(str(path), Plan(kills=1))
