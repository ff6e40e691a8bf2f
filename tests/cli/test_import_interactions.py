"""`variegate import-interactions`: users are taught from the past, each line exactly once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.cli.running import fail, run
from tests.cli.serving import Place
from tests.engine.shop import Clock
from variegate.cli import commands
from variegate.data import interactions
from variegate.policies import State, make_policy
from variegate.store import Store

CLICKS = """user,item,reward,time
ann,i3,1,2026-03-02
bob,i5,0.5,1770000000
ann,i4,0,2026-03-01
bob,nothing,1,
ann,i7,4,
"""


@pytest.fixture
def file(named_place: Place) -> Path:
    path = named_place.folder / "clicks.csv"
    path.write_text(CLICKS, encoding="utf-8")
    return path


def test_users_are_taught_what_the_library_learns(named_place: Place, file: Path) -> None:
    printed = run("import-interactions", file)

    assert printed.splitlines() == [
        "1 line rejected: the item must be in the catalogue (line 5: 'nothing')",
        "1 line rejected: `reward` must be a number from 0 to 1 (line 6: '4')",
        "3 interactions imported, 2 lines rejected.",
    ]
    with named_place.shop(policies={"lmdp": "lmdp"}) as shop:
        policy = make_policy("lmdp", shop.items)
        for item, reward in (("i4", 0.0), ("i3", 1.0)):  # by time
            policy.learn_relevance(shop.items.rows([item]), [reward])
        assert State.from_bytes(shop.user("ann").state or b"") == policy.state()
        assert shop.check().wrong == ()
        times = [event.body["time"] for event in shop.events("ann")]
        assert times == sorted(times)
        assert not {"i3", "i4"} & set(shop.ids("ann", k=20))


def test_importing_again_changes_nothing_and_a_longer_file_adds(
    named_place: Place, file: Path
) -> None:
    run("import-interactions", file)
    with named_place.shop() as shop:
        before = shop.exported()

    assert run("import-interactions", file).endswith(
        "0 interactions imported, 3 were known, 2 lines rejected.\n"
    )
    with named_place.shop() as shop:
        assert shop.exported() == before
    file.write_text(CLICKS + "ann,i9,1,5\nann,i9,1,5\n", encoding="utf-8")

    assert "1 interaction imported, 4 were known" in run("import-interactions", file)


def test_other_options_for_the_same_lines_are_rejected(named_place: Place, file: Path) -> None:
    run("import-interactions", file)

    printed = fail_with_output("import-interactions", file, "--allow-repeats")

    assert (
        "3 lines rejected: the line was imported before, with other options (line 4; line 2;"
        in (printed)
    )
    assert printed.endswith("Error: 0 interactions imported: 5 invalid lines\n")
    with named_place.shop() as shop:
        assert shop.engine.counts()["events"] == 3


def fail_with_output(*words: object) -> str:
    result = CliRunner().invoke(commands, list(map(str, words)))
    assert result.exit_code == 1, result.output
    return result.output


def test_items_may_be_recommended_at_once(named_place: Place, file: Path) -> None:
    run("import-interactions", file, "--allow-repeats")

    with named_place.shop() as shop:
        assert shop.user("ann").consumed is None


def test_check_imports_nothing(named_place: Place, file: Path) -> None:
    rejected = named_place.folder / "rejected.csv"

    printed = fail_with_output("import-interactions", file, "--check", "--rejected", rejected)

    assert printed.endswith("Error: Nothing was imported: 2 invalid lines\n")
    assert rejected.read_text(encoding="utf-8").splitlines() == [
        "line,reason",
        "5,\"the item must be in the catalogue, got 'nothing'\"",
        "6,\"`reward` must be a number from 0 to 1, got '4'\"",
    ]
    with named_place.shop() as shop:
        assert shop.engine.counts()["users"] == 0


def test_ratings_without_a_header_become_rewards(named_place: Place) -> None:
    path = named_place.folder / "u.data"
    path.write_text("ann\ti3\t5\t7\nann\ti4\t3\t8\n", encoding="utf-8")

    printed = run(
        "import-interactions", path, "--separator", "\\t", "--columns", "user,item,stars,time",
        "--reward", "stars", "--threshold", "3",
    )  # fmt: skip

    assert printed == "2 interactions imported, 0 lines rejected.\n"
    with named_place.shop() as shop:
        rewards = [event.body["rewards"] for event in shop.events("ann")]
        assert rewards == [{"i3": 1.0}, {"i4": 0.0}]


def test_ids_that_cannot_be_stored_are_rejected(named_place: Place) -> None:
    path = named_place.folder / "odd.csv"
    path.write_bytes(b"user,item\nb\xffd,i1\n" + b"x" * 300 + b",i1\nann,i1\n")

    printed = run("import-interactions", path, "--reward", "1")

    assert "2 lines rejected: `user` must be text of 1 to 200 characters" in printed
    assert printed.endswith("1 interaction imported, 2 lines rejected.\n")


def test_a_table_without_rewards_is_refused(named_place: Place) -> None:
    path = named_place.folder / "likes.csv"
    path.write_text("user,item\nann,i1\n", encoding="utf-8")

    assert "no column 'reward' of rewards among 'user', 'item': name it" in fail(
        "import-interactions", path
    )


def table(count: int) -> str:
    numbers = np.random.default_rng(7).integers(0, (60, 24, 2), (count, 3)).tolist()
    lines = (f"user{a},i{b},{c},{at}\n" for at, (a, b, c) in enumerate(numbers))
    return "user,item,reward,time\n" + "".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kills_at_any_time_lose_nothing_and_count_nothing_twice(
    named_place: Place, kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, count = named_place.folder / "long.csv", 3000
    path.write_text(table(count), encoding="utf-8")
    url = named_place.url("killed")
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    script = (
        "from variegate.data import interactions; interactions.CHUNK = 500\n"
        "from variegate.cli import commands; commands()"
    )
    command = [sys.executable, "-c", script, "import-interactions", str(path)]
    with Store.open(url) as store:
        for wanted in (1, 700, 1800):
            process = subprocess.Popen(command, env={**os.environ, "VARIEGATE_STORE": url})
            # Only when it has stored something more, so that it is killed in the midst of it.
            while process.poll() is None and events_in(store) < wanted:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
            assert wanted <= events_in(store) < count

    monkeypatch.setattr(interactions, "CHUNK", 500)
    printed = run("import-interactions", path, "--store", url)
    run("import-interactions", path, "--store", named_place.url("whole"))
    assert " were known" in printed
    killed, whole = states_of(url), states_of(named_place.url("whole"))
    assert len(killed) == 60
    assert killed == whole
    with Store.open(url) as store:
        assert events_in(store) == count
    assert run("rebuild", "--check", "--store", url) == "All states match the log: 60 users.\n"


def events_in(store: Store) -> int:
    with store.reading() as reader:
        return reader.counts()["events"]


def states_of(url: str) -> dict[str, bytes | None]:
    with Store.open(url) as store, store.reading() as reader:
        return {row.id: row.state for row in reader.all_users(None, 1000)}


def test_the_service_may_run_meanwhile(named_place: Place, file: Path) -> None:
    with named_place.shop(policies={"lmdp": "lmdp"}, clock=Clock(time.time())) as shop:
        shop.click("ann")
        run("import-interactions", file)
        shop.click("ann")

        assert shop.check().wrong == ()
        assert len(shop.events("ann")) == 4
