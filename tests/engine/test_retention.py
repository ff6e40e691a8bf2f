"""Old slates and events are removed, and what they taught stays."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest

from tests.engine.conftest import Opening
from tests.engine.shop import Shop
from tests.full_disk import largest_file
from variegate.engine import retention
from variegate.engine.interactions import Interaction, LearnInteractions
from variegate.engine.replay import iter_events, iter_slates, iter_users
from variegate.engine.retention import oldest_part, remove_old
from variegate.errors import ConflictError, DataError, InputError, NotFoundError
from variegate.store import CONFIGURATION, EventRow, SlateRow, Store

DAY = 86_400.0
RULES = {"wait_seconds": 60.0, "default_reward": 0.0}


def lived_in(store: Store, **rules: Any) -> Shop:
    """Return a shop with three months of slates, feedback and interactions of four users."""
    shop = Shop(store, **rules)
    for day in range(9):
        for user in ("ann", "bob", "cyd", f"guest {day}"):
            shop.click(user, day % 4)
            shop.give(user)
        shop.do(LearnInteractions("ann", (Interaction({f"i{day}": 1.0}),)))
        shop.close(60.0)
        shop.clock.now += 10 * DAY - 60.0
    return shop


def everything(store: Store) -> tuple[dict[str, SlateRow], dict[int | None, EventRow]]:
    with store.reading() as reader:
        slates = {
            row.id: row for user in iter_users(reader) for row in iter_slates(reader, user.id)
        }
        return slates, {event.seq: event for event in iter_events(reader, None)}


def report(shop: Shop) -> tuple[Any, Any]:
    return shop.engine.counts(), shop.engine.report()["policies"]


def agrees(shop: Shop) -> bool:
    check = shop.check()
    return (check.wrong, check.wrong_sums) == ((), 0)


@pytest.mark.parametrize("rules", [{}, RULES], ids=["open", "closing"])
def test_states_and_reports_are_as_before(any_store: Store, rules: dict[str, float]) -> None:
    shop = lived_in(any_store, **rules)
    before, report_before = {user: shop.user(user).state for user in ("ann", "bob")}, report(shop)
    remove_old(shop.executor, 45)
    done = remove_old(shop.executor, 25)

    slates, events = everything(any_store)
    assert done.slates
    assert {row.created for row in slates.values()} == {
        shop.clock.now - 10 * DAY * n for n in (1, 2)
    }
    assert min(event.time for event in events.values()) >= shop.clock.now - 25 * DAY
    assert {user: shop.user(user).state for user in before} == before
    assert (report(shop), agrees(shop)) == (report_before, True)
    for user in ("ann", "guest 0"):
        shop.click(user)
    assert agrees(shop)
    with any_store.batch() as batch:
        batch.recompute_sums(shop.clock.now)
    assert (shop.engine.counts()["slates"], agrees(shop)) == (report_before[0]["slates"] + 2, True)


def test_a_state_that_is_wrong_is_rebuilt_from_the_checkpoint(any_store: Store) -> None:
    from variegate.engine.replay import RebuildUser

    shop = lived_in(any_store)
    right = shop.user("ann").state
    remove_old(shop.executor, 25)
    with any_store.batch() as batch:
        batch.save_users([batch.lock_users(["ann"])["ann"]._replace(state=None)])
    assert shop.check().wrong == ("ann",)
    shop.do(RebuildUser("ann"))
    assert shop.user("ann").state == right


def test_a_forgotten_user_leaves_no_checkpoint(any_store: Store) -> None:
    shop = lived_in(any_store)
    remove_old(shop.executor, 25)
    for user in ("ann", "bob", "cyd", *(f"guest {day}" for day in range(9))):
        shop.forget(user)
    assert shop.engine.counts() == {"users": 0, "slates": 0, "answered": 0, "events": 0}
    assert agrees(shop)
    with any_store.reading() as reader:
        assert reader.checkpoint_state("ann") is None


def test_feedback_on_a_slate_that_another_process_removed_is_not_found(any_store: Store) -> None:
    shop = Shop(any_store)
    given = shop.give()
    shop.clock.now += 30 * DAY
    remove_old(Shop(any_store, clock=shop.clock).executor, 25)
    with pytest.raises(NotFoundError, match="is older than the store keeps"):
        shop.tell(given["slate_id"], {given["items"][0]["id"]: 1.0})


def test_an_export_has_the_checkpoints(any_store: Store, opening: Opening) -> None:
    shop = lived_in(any_store)
    remove_old(shop.executor, 25)
    lines, other = shop.exported(), Shop(opening("sqlite"))
    for _ in range(2):  # the second time changes nothing
        other.take_in(lines)
    assert other.exported() == lines
    assert agrees(other)
    assert other.user("ann").state == shop.user("ann").state


def slate_at(name: str, created: float, **more: Any) -> SlateRow:
    from tests.store.factories import slate

    return slate(name)._replace(created=created, **{"due": None, **more})


def event_at(seq: int, time: float, name: str | None) -> EventRow:
    return EventRow(seq, time, "ada", name, "feedback", {})


@pytest.mark.parametrize(
    ("events", "removed"),
    [
        ([(1, 1.0, "a"), (2, 2.0, "b")], ("ab", [1, 2])),
        # Feedback that came late keeps its slate, and what was learnt after the slate's first.
        ([(1, 1.0, "a"), (2, 2.0, "b"), (3, 9.0, "b")], ("a", [1])),
        ([(1, 1.0, "b"), (2, 2.0, "a"), (3, 9.0, "b")], ("", [])),
        ([(1, 1.0, "a"), (2, 2.0, "new"), (3, 3.0, "b")], ("a", [1])),
        ([(1, 1.0, None), (2, 9.0, "new")], ("ab", [1])),
    ],
)
def test_a_slate_goes_with_all_of_its_events(
    events: list[tuple[int, float, str | None]], removed: tuple[str, list[int]]
) -> None:
    slates = [
        slate_at("a", 1.0),
        slate_at("b", 2.0),
        slate_at("due", 2.0, due=9.0),
        slate_at("new", 8.0),
    ]
    found = oldest_part(slates, [event_at(*event) for event in events], 5.0)
    assert ("".join(row.id for row in found[0]), [event.seq for event in found[1]]) == removed


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.engine.shop import NOON, Clock, Shop
from variegate.engine import retention
from variegate.store import Store

url, archive, place, now = sys.argv[1:]
write, number = retention.Archive.write, iter(range(99))
def killed(files, step, *rows):
    write(files, step, *rows)
    if place == "before" and next(number) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
retention.Archive.write = killed
retention._STEP_ROWS = 1
def progress(done):
    if place == "after" and done.users == 3:
        os.kill(os.getpid(), signal.SIGKILL)
shop = Shop(Store.open(url), clock=Clock(float(now)))
retention.remove_old(shop.executor, 25, archive=Path(archive), progress=progress)
"""


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_process_killed_between_archive_and_commit_loses_and_doubles_nothing(
    kind: str, place: str, url_of: Callable[[str], str], tmp_path: Path
) -> None:
    url, archive = url_of(kind), tmp_path / "archive"
    with Store.open(url) as store:
        shop = lived_in(store)
        before, totals = everything(store), report(shop)
        command = [sys.executable, "-c", KILLED, url, str(archive), place, str(shop.clock.now)]
        ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert agrees(shop)
        assert len(everything(store)[0]) < len(before[0])
        assert len(list(archive.glob("slates-*.parquet"))) == 3

        remove_old(shop.executor, 25, archive=archive)

        after = everything(store)
        slates, events = (
            pl.concat([pl.read_parquet(path) for path in sorted(archive.glob(f"{name}-*.parquet"))])
            for name in ("slates", "events")
        )
        assert sorted([*slates["id"], *after[0]]) == sorted(before[0])
        assert sorted([*events["seq"], *after[1]]) == sorted(one for one in before[1] if one)
        assert slates.filter(pl.col("id") == slates["id"][0])["features"][0] == (
            before[0][slates["id"][0]].features
        )
        assert (agrees(shop), report(shop)) == (True, totals)


def test_stores_share_a_folder_of_archives_and_other_files_stay(
    url_of: Callable[[str], str], tmp_path: Path
) -> None:
    # A store that was restored from a backup counts its steps from 1 again.
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "sales-2024.parquet").write_bytes(b"")
    for url in (url_of("sqlite"), f"sqlite:///{tmp_path / 'other.db'}"):
        with Store.open(url) as store:
            assert remove_old(lived_in(store).executor, 25, archive=archive).slates > 0
    names = sorted(path.name for path in archive.glob("slates-*"))
    assert len({name.split("-")[1] for name in names}) == 2
    assert (archive / "sales-2024.parquet").exists()


def test_a_run_that_begins_beside_another_leaves_its_files(
    url_of: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, url = tmp_path / "archive", url_of("postgres")
    write, begun = retention.Archive.write, list[Thread]()

    def write_and_begin_another(files: Any, step: int, *rows: Any) -> None:
        write(files, step, *rows)
        if not begun:
            begun.append(Thread(target=remove_old, args=(other.executor, 25), kwargs=folder))
            begun[0].start()
            begun[0].join(0.5)  # it waits for the commit of this step

    monkeypatch.setattr(retention.Archive, "write", write_and_begin_another)
    monkeypatch.setattr(retention, "_STEP_ROWS", 1)
    folder: Any = {"archive": archive}
    with Store.open(url) as store, Store.open(url) as again:
        shop = lived_in(store)
        other = Shop(again, clock=shop.clock)
        before = everything(store)[0]
        remove_old(shop.executor, 25, **folder)
        begun[0].join()
        kept = everything(store)[0]
    removed = pl.concat([pl.read_parquet(path) for path in archive.glob("slates-*.parquet")])
    assert sorted([*removed["id"], *kept]) == sorted(before)


def test_nothing_is_removed_if_the_archive_has_no_room(
    url_of: Callable[[str], str], tmp_path: Path
) -> None:
    # polars said of it that the Parquet file was out of specification, and the command crashed.
    archive = tmp_path / "archive"
    with Store.open(url_of("postgres")) as store:
        shop = lived_in(store)
        before = everything(store)
        with (
            largest_file(500),
            pytest.raises(
                DataError, match=r"slates-\w{8}-00000001\.parquet: cannot be written: File too"
            ),
        ):
            remove_old(shop.executor, 25, archive=archive)
        assert everything(store) == before
        assert not [*archive.iterdir()]

        assert remove_old(shop.executor, 25, archive=archive).slates > 0
        assert agrees(shop)


def test_what_cannot_be_done_is_refused_with_the_reason(store: Store) -> None:
    shop = Shop(store)
    with pytest.raises(InputError, match=r"^`keep_days` must be at least 9, got 8$"):
        remove_old(shop.executor, 8)
    with store.batch() as batch:
        batch.set_meta(CONFIGURATION, '{"k": 3}')
    with pytest.raises(ConflictError, match=r"^the service has other settings \(.*`policies`"):
        remove_old(shop.executor, 9)
