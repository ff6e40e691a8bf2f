"""Many clients at one user at the same time: all is applied, nothing twice."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from prometheus_client.mmap_dict import MmapedDict

from tools.loadtest.connection import Connection, request_bytes
from tools.soak.audit import Notebook, Sent
from tools.soak.clients import Client
from tools.soak.process import started
from tools.soak.run import Looking, settings_of
from variegate.store import MAX_CHANGES, EventRow, SlateRow, Store, UserRow

CLIENTS = 64
USER = "the only one"

stores = pytest.mark.parametrize(
    ("kind", "workers"),
    [("sqlite", 1), pytest.param("postgres", 2, marks=pytest.mark.slow)],
)


def client_of(address: tuple[str, int], book: Notebook, number: int) -> Client:
    return Client(address, book, 1, random.Random(number), str(number))  # noqa: S311


def pings(folder: Path) -> Counter[str]:
    """Return how many pings each worker has answered, by its file of numbers."""
    answered: Counter[str] = Counter()
    for file in folder.glob("variegate-metrics-*/counter_*.db"):
        for key, count, *_ in MmapedDict.read_all_values_from_file(str(file)):  # type: ignore[no-untyped-call]
            answered[file.name] += int(count) if "/v1/ping" in key else 0
    return answered


async def connected(address: tuple[str, int], folder: Path, workers: int) -> list[Connection]:
    """Return 64 connections, with every worker at the other end of some."""
    while True:
        before = pings(folder)
        connections = [await Connection.to(*address) for _ in range(CLIENTS)]
        for connection in connections:
            await connection.ask(request_bytes("GET", "/v1/ping"))
        mine = pings(folder) - before
        if workers == 1 or sum(count >= 8 for count in mine.values()) == workers:
            return connections
        for connection in connections:  # a worker is not there yet, or was too slow
            connection.close()


async def everybody_at_once(connections: Sequence[Connection], clients: Sequence[Client]) -> None:
    """Let every client get a list and report it, every fourth twice at once."""

    async def one(number: int) -> None:
        client, connection = clients[number], connections[number]
        slate = await client.request(connection, USER)
        assert slate is not None
        report = client.report_on(slate)
        if number % 4:
            await client.send(connection, report)
        else:
            await client.send_twice_at_once(connection, report)

    await asyncio.gather(*map(one, range(CLIENTS)))
    for connection in connections:
        connection.close()


def kept(url: str) -> tuple[UserRow, list[SlateRow], list[EventRow]]:
    """Return the user, their lists and their events."""
    with Store.open(url, create=False) as store, store.reading() as reader:
        return (
            reader.users([USER])[USER],
            reader.history(USER, 10 * CLIENTS),
            reader.events(limit=10 * CLIENTS),
        )


@stores
def test_64_clients_at_one_user_are_all_heard_once(
    kind: str, workers: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    settings, book = settings_of(url, tmp_path, workers=workers), Notebook()

    async def load(address: tuple[str, int]) -> None:
        connections = await connected(address, tmp_path, workers)
        clients = [client_of(address, book, number) for number in range(CLIENTS)]
        await everybody_at_once(connections, clients)

    with started(settings, str(tmp_path)) as process:
        asyncio.run(load(process.address))
        process.ask_to_stop()
        assert process.wait() == 0

    assert (book.problems, book.unavailable, book.doubtful) == ([], 0, {})
    assert len(book.slates) == len(book.acknowledged) == CLIENTS
    user, slates, events = kept(url)
    assert {row.id for row in slates} == book.slates.keys()
    assert sorted(event.slate_id or "" for event in events) == sorted(book.slates)
    assert all(all(row.taught) and len(row.reports) == 1 for row in slates)
    assert user.slates == CLIENTS
    # A batch takes at most 64 of the 128 lists and reports, and changes the user once.
    assert 2 <= user.version % MAX_CHANGES <= 2 * CLIENTS
    audit = Looking(settings)(book)
    assert audit.facts == ()
    assert audit.largest <= 1e-9
    assert (audit.users, audit.events, audit.unasked) == (1, CLIENTS, 0)


@stores
def test_contradictions_at_the_same_time_leave_one_truth(
    kind: str, workers: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url: str = request.getfixturevalue(f"{kind}_url")
    settings, book = settings_of(url, tmp_path, workers=workers), Notebook()

    async def contradict(address: tuple[str, int]) -> None:
        client = client_of(address, book, 0)
        connections = await connected(address, tmp_path, workers)
        slate = await client.request(connections[0], USER)
        assert slate is not None
        items = book.slates[slate].items
        reports = [
            Sent(slate, tuple((item, number / 16) for item in sorted(items)), None, str(number))
            for number in range(16)
        ]
        await asyncio.gather(*map(client.send, connections[::4], reports))
        for connection in connections:
            connection.close()

    with started(settings, str(tmp_path)) as process:
        asyncio.run(contradict(process.address))

    assert len(book.acknowledged) == 1
    assert len(book.problems) == 15
    assert all(" was answered 409: " in problem for problem in book.problems)
    _, (slate,), (event,) = kept(url)
    (report,) = book.acknowledged
    assert dict(report.rewards) == dict(zip(slate.items, slate.rewards, strict=True))
    assert event.body["event"] == report.event
