"""The page of the load test: its bars are judged by the numbers, and its text outside stays."""

from pathlib import Path

import pytest

from tools.loadtest.limits import Service, limits, rate_for_ratio, reasons
from tools.loadtest.page import BEGIN, END, Run, bars, explained, write_between
from tools.loadtest.profile import PARTS, microseconds, table
from tools.loadtest.run import Found, Phase


def run(share: float, *, megabytes: float = 300.0, p99: float = 0.002) -> Run:
    """Return a run whose lists and feedback come at a share of the empty route's rate."""
    empty = Phase(1.0, {"empty": [0.001] * 1000})
    mixed = Phase(1.0, {"list": [p99] * int(1000 * share)})
    return Run(Found(empty, mixed, [int(megabytes * 1e6)]), {"HTTP": 200.0}, {"HTTP": 100.0})


@pytest.mark.parametrize(
    ("measured", "not_met"),
    [
        (([run(0.5)] * 2, [run(0.3)] * 2, [1.9], [1.9]), []),
        (([run(0.5), run(0.49)], [run(0.3)], [1.9], [1.9]), ["49% to 50%"]),
        (([run(0.5)], [run(0.3), run(0.29)], [1.9], [1.9]), ["29% to 30%"]),
        (([run(0.5)], [run(0.3, p99=0.004)], [1.9], [1.9]), ["4.00 (4.00 to 4.00)"]),
        (([run(0.5)], [run(0.3)], [1.0, 2.1, 2.1], [1.9]), ["2.10 (1.00 to 2.10) s"]),
        (([run(0.5, megabytes=351)], [run(0.3)], [1.9], [1.9]), ["351 MB"]),
        (([run(0.5)], [run(0.3)], [1.9], [2.5]), ["2.50 (2.50 to 2.50)"]),
    ],
)
def test_bars_are_judged_by_the_numbers(
    measured: tuple[list[Run], list[Run], list[float], list[float]], not_met: list[str]
) -> None:
    assert [bar.measured for bar in bars(*measured) if not bar.is_met] == not_met


def test_only_the_text_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "load.md"
    page.write_text(f"# Load\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    write_between(page, "new")
    assert page.read_text() == f"# Load\n\n{BEGIN}\nnew\n\n{END}\n\nafter\n"


def test_the_time_of_the_engine_is_divided_into_parts() -> None:
    parts = microseconds(warm_up=1, batches=2)
    assert list(parts) == [*PARTS]
    assert min(parts.values()) > 0.0  # each part was at work
    head, _, *rows = table({"SQLite": parts})
    assert head == "| part | SQLite | share |"
    assert len(rows) == len(parts) + 1
    assert rows[-1] == f"| all | {sum(parts.values()):.0f} | 100% |"


def service(**micro: float) -> Service:
    """Return a service that was to reach 5,000 of 10,000 requests/s and reached 3,000."""
    return Service(3000.0, 10_000.0, micro, {"lists": 100.0, "rest": 50.0}, 1, 0.5)


def test_the_cpu_times_say_which_rate_they_allow() -> None:
    one = service(clients=40.0, HTTP=110.0, engine=250.0)
    assert one.busiest() == ("engine", 4000.0)
    assert one.rate_of_cores(2) == 5000.0
    assert one._replace(workers=2, micro={"HTTP": 400.0, "PostgreSQL": 900.0}).best(2) == (
        pytest.approx(2e6 / 1300)
    )
    assert list(limits({"SQLite": one}, 2)) == [
        "| | SQLite |",
        "|---|---|",
        "| CPU of a list or feedback, all processes | 400 µs |",
        "| cores that were busy, of 2 | 1.20 |",
        "| rate if no core ever waited | 5,000/s, 50% |",
        "| rate if the busiest processes never waited | engine: 4,000/s, 40% |",
        "| rate that was promised | 5,000/s, 50% |",
        "| CPU that a list or feedback may take for it | 400 µs |",
        "| without the engine's largest part, if no core ever waited | lists: 6,667/s, 67% |",
    ]


@pytest.mark.parametrize(
    ("micro", "why"),
    [
        ({"engine": 250.0}, "the engine processes allow 4,000/s, 40% at best, "),
        ({"HTTP": 100.0, "other": 400.0}, "the 2 cores together allow 4,000/s, 40% at best, "),
        ({"engine": 100.0}, "the CPU would allow 10,000/s, 100%: the rest is waiting."),
    ],
)
def test_a_share_that_was_not_reached_has_a_reason(micro: dict[str, float], why: str) -> None:
    (reason,) = reasons({"SQLite": service(**micro)}, 2)
    assert reason.startswith("SQLite: 5,000/s, 50% was promised, 3,000/s, 30% measured; ")
    assert why in reason


def test_a_share_that_was_reached_needs_no_reason() -> None:
    assert not list(reasons({"SQLite": service(engine=100.0)._replace(rate=5000.0)}, 2))


def test_waits_are_held_against_the_rate() -> None:
    assert "times at 6,000/s, 60%, since" in rate_for_ratio(service(engine=100.0), 8.0, 4.0)


def test_the_page_explains_bars_that_were_not_met() -> None:
    parts = {store: {"lists": 50.0} for store in ("SQLite", "PostgreSQL")}
    good = "\n".join(explained([run(0.5)], [run(0.3)], parts, 2))
    assert "promised |" in good
    assert "promised, " not in good
    bad = "\n".join(explained([run(0.4)], [run(0.3, p99=0.008)], parts, 2))
    assert "SQLite: 500/s, 50% was promised, 400/s, 40% measured" in bad
    assert "A p99 of 8.00 times" in bad
