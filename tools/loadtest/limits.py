"""Which rate the measured CPU times allow at best, beside what was promised."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

#: Processes that execute one thread at a time, as Python does, so that each uses one core at most
ONE_CORE_EACH: Final = ("clients", "HTTP", "engine")


class Service(NamedTuple):
    """What the runs with one store measured, medians of them.

    Parameters
    ----------
    rate, empty_rate
        Lists and feedback per second, and requests to the empty route.
    micro
        Microseconds of CPU per list or feedback, by the role of the process.
    parts
        The same in the engine alone, by part.
    workers
        Processes that answer HTTP; of the other roles there is one process each.
    share
        The least share of the empty route's rate that was promised.
    """

    rate: float
    empty_rate: float
    micro: Mapping[str, float]
    parts: Mapping[str, float]
    workers: int
    share: float

    @property
    def total(self) -> float:
        """Microseconds of CPU per list or feedback in all processes."""
        return sum(self.micro.values())

    def rate_of_cores(self, cores: int, saved: float = 0.0) -> float:
        """Return the rate if no core ever waited; `saved` microseconds less per request."""
        return 1e6 * cores / (self.total - saved)

    def busiest(self) -> tuple[str, float]:
        """Return the role whose processes limit the rate most, and the rate if they never wait."""
        rates = {
            role: 1e6 * (self.workers if role == "HTTP" else 1) / self.micro[role]
            for role in ONE_CORE_EACH
            if self.micro.get(role)
        }
        role = min(rates, key=lambda one: rates[one])
        return role, rates[role]

    def best(self, cores: int) -> float:
        """Return the highest rate that the CPU times allow."""
        return min(self.rate_of_cores(cores), self.busiest()[1])


def limits(services: Mapping[str, Service], cores: int) -> Iterator[str]:
    """Yield a table of what the CPU times allow on so many cores, a column per store."""
    rows: dict[str, list[str]] = {}

    def add(name: str, text: str) -> None:
        rows.setdefault(name, []).append(text)

    for one in services.values():
        add("CPU of a list or feedback, all processes", f"{one.total:.0f} µs")
        add(f"cores that were busy, of {cores}", f"{one.rate * one.total / 1e6:.2f}")
        add("rate if no core ever waited", _rate(one, one.rate_of_cores(cores)))
        role, rate = one.busiest()
        add("rate if the busiest processes never waited", f"{role}: {_rate(one, rate)}")
        wanted = one.share * one.empty_rate
        add("rate that was promised", _rate(one, wanted))
        add("CPU that a list or feedback may take for it", f"{1e6 * cores / wanted:.0f} µs")
        part = max(one.parts, key=lambda name: one.parts[name])
        saved = one.rate_of_cores(cores, one.parts[part])
        add("without the engine's largest part, if no core ever waited", _part(part, one, saved))
    yield f"| | {' | '.join(services)} |"
    yield f"|---|{'---|' * len(services)}"
    for name, texts in rows.items():
        yield f"| {name} | {' | '.join(texts)} |"


def reasons(services: Mapping[str, Service], cores: int) -> Iterator[str]:
    """Yield a sentence for each promised share that the CPU times, or waits, kept out of reach."""
    for store, one in services.items():
        wanted, best = one.share * one.empty_rate, one.best(cores)
        if one.rate >= wanted:
            continue
        if best < wanted:
            role, rate = one.busiest()
            limit = f"the {role} processes" if rate == best else f"the {cores} cores together"
            why = f"{limit} allow {_rate(one, best)} at best, whatever the others do"
        else:
            why = f"the CPU would allow {_rate(one, best)}: the rest is waiting"
        yield f"{store}: {_rate(one, wanted)} was promised, {_rate(one, one.rate)} measured; {why}."


def rate_for_ratio(one: Service, ratio: float, most: float) -> str:
    """Return a sentence on the rate at which a ratio of waits would be small enough.

    Clients that always wait for an answer wait in inverse proportion to the rate.
    """
    needed = one.rate * ratio / most
    return (
        f"A p99 of {ratio:.2f} times the empty route's would be {most:g} times at "
        f"{_rate(one, needed)}, since clients that always wait for an answer wait in inverse "
        "proportion to the rate."
    )


def _part(name: str, one: Service, rate: float) -> str:
    return f"{name}: {_rate(one, rate)}"


def _rate(one: Service, rate: float) -> str:
    return f"{rate:,.0f}/s, {rate / one.empty_rate:.0%}"
