"""`python -m tools.soak` prints what it found, and fails where something is lost."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tools.soak import run
from tools.soak.__main__ import main
from tools.soak.audit import Audit, Given, Notebook
from tools.soak.results import Kill, Plan, Soak


def fail(*options: object) -> str:
    """Return the one line on stderr of a run that fails."""
    result = CliRunner().invoke(main, list(map(str, options)))
    assert result.exit_code == 1, result.output
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def found(*wrong: str) -> Soak:
    audit = Audit(users=2, slates=4, events=3, unasked=1, largest=2e-16, facts=wrong)
    kill = Kill(1, load=0.25, under_way=3, back=0.5, lists=3, reports=2, audit=audit)
    book = Notebook(slates={"01": Given("ada", ("a",))}, repeated=5)
    return Soak(book, [kill], audit, list(wrong))


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Plan]]:
    """Return what was planned, in the place of doing it."""
    planned: list[tuple[str, Plan]] = []

    def pretend(url: str, plan: Plan, tell: object) -> Soak:
        planned.append((url, plan))
        result = found(*(["slate 01 was given, and is lost"] if plan.seed else []))
        assert callable(tell)
        tell(result.kills[0])
        return result

    monkeypatch.setattr(run, "soaked", pretend)
    return planned


def test_report_has_a_row_for_each_kill_and_the_sums(plans: list[tuple[str, Plan]]) -> None:
    result = CliRunner().invoke(main, ["--kills", "3", "--store", "some.db"])

    assert result.exit_code == 0, result.output
    assert plans == [("some.db", Plan(kills=3))]
    assert result.stdout.splitlines() == [
        " kill   after  under way  back in    lists  reports  in the log  largest difference",
        "    1  0.25 s          3   0.50 s        3        2           3               2e-16",
        "",
        "1 kills with SIGKILL, 3 requests under way in all",
        "1 lists acknowledged, 0 reports; 5 reports sent again",
        "4 lists and 3 reports kept, of 2 users",
        "every state as the log says, to 2e-16",
    ]


def test_what_is_wrong_is_reported_and_fails(plans: list[tuple[str, Plan]]) -> None:
    result = CliRunner().invoke(main, ["--seed", "1"])

    assert result.exit_code == 1
    assert "WRONG: slate 01 was given, and is lost" in result.stdout.splitlines()
    assert result.stderr == "Error: 1 wrong; the first: slate 01 was given, and is lost\n"
    assert plans[0][0].startswith("sqlite:///")


@pytest.mark.parametrize("option", ["--kills", "--workers", "--clients", "--users", "--longest"])
def test_number_that_is_none_is_refused(option: str) -> None:
    name = option.removeprefix("--")

    assert fail(option, 0).startswith(f"`{name}` must be ")


@pytest.mark.slow
def test_real_soak_of_one_kill_is_in_order(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/soak.db"

    result = CliRunner().invoke(main, ["--kills", "1", "--store", store])

    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].startswith("every state as the log says, to ")
    assert fail("--store", store).startswith("`store` must be an empty one, got one with")
