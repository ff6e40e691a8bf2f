"""What a soak is to do, and what came of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.soak.audit import Audit, Notebook


@dataclass(frozen=True)
class Plan:
    """How hard to try.

    Parameters
    ----------
    users
        How many there are: the fewer, the more often two clients are at the same one.
    shortest, longest
        Seconds of load before a kill; each kill has a moment of its own in between.
    engine_process
        As the setting of the service.
    """

    kills: int = 20
    workers: int = 1
    clients: int = 8
    users: int = 40
    seed: int = 0
    shortest: float = 0.05
    longest: float = 0.6
    engine_process: bool | None = None


@dataclass(frozen=True)
class Kill:
    """One kill, and how things were after the new start.

    Parameters
    ----------
    load
        Seconds of load before it.
    under_way
        Requests without an answer when it came.
    back
        Seconds until the service answered again.
    lists, reports
        Acknowledged by then, from the beginning on.
    """

    number: int
    load: float
    under_way: int
    back: float
    lists: int
    reports: int
    audit: Audit


@dataclass
class Soak:
    """What the clients received, what each kill did, and the final state.

    Parameters
    ----------
    last
        The store after the last service was asked to stop.
    wrong
        Nothing, if all is well.
    """

    notebook: Notebook = field(default_factory=Notebook)
    kills: list[Kill] = field(default_factory=list)
    last: Audit | None = None
    wrong: list[str] = field(default_factory=list)


HEADER = (
    f"{'kill':>5} {'after':>7} {'under way':>10} {'back in':>8} {'lists':>8} {'reports':>8} "
    f"{'in the log':>11} {'largest difference':>19}"
)


def line(kill: Kill) -> str:
    """Return a kill as a row under `HEADER`."""
    audit = kill.audit
    return (
        f"{kill.number:>5} {kill.load:>5.2f} s {kill.under_way:>10} {kill.back:>6.2f} s "
        f"{kill.lists:>8,} {kill.reports:>8,} {audit.events:>11,} {audit.largest:>19.1g}"
    )


def summary(soak: Soak) -> Iterator[str]:
    """Give what came of it all, a line each."""
    book, under_way = soak.notebook, sum(kill.under_way for kill in soak.kills)
    lists, reports = len(book.slates), len(book.acknowledged)
    yield f"{len(soak.kills)} kills with SIGKILL, {under_way} requests under way in all"
    if soak.last is None:
        return
    last = soak.last
    yield f"{lists:,} lists acknowledged, {reports:,} reports; {book.repeated:,} reports sent again"
    yield f"{last.slates:,} lists and {last.events:,} reports kept, of {last.users} users"
    yield (
        f"every state as the log says, to {last.largest:.1g}"
        if not soak.wrong
        else f"{len(soak.wrong)} things are wrong"
    )
