"""The page of the load test: its bars are judged by the numbers, and its text outside stays."""

from pathlib import Path

import pytest

from tools.loadtest.page import BEGIN, END, Run, bars, write_between
from tools.loadtest.profile import PARTS, REST, microseconds, table
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
    assert list(parts) == [*PARTS, REST]
    assert min(parts.values()) > 0.0  # each part was at work
    head, _, *rows = table({"SQLite": parts})
    assert head == "| part | SQLite | share |"
    assert len(rows) == len(parts) + 1
    assert rows[-1] == f"| all | {sum(parts.values()):.0f} | 100% |"
