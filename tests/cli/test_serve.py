"""`variegate serve`: from flags to settings."""

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import fail, run
from variegate.engine.settings import Settings


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VARIEGATE_CONFIG", raising=False)


def printed(*words: object) -> dict[str, object]:
    return tomllib.loads(run("serve", "--print-config", *words))


def test_flags_become_settings(tmp_path: Path) -> None:
    found = printed(
        "--catalogue", "shop.npz", "--store", "sqlite:///shop.db", "--host", "127.0.0.2",
        "--port", 81, "--workers", 2, "--policy", "a=lmdh:ridge=1,exploration=0.5",
        "--policy", "b=mmr", "--split", "a=9", "--split", "b=1", "--k", 5, "--mix", 0.1,
        "--seed", 7, "--rate", 50, "--cors-origins", "https://a.example", "--log-level", "error",
        "--log-format", "text", "--allow-anonymous",
    )  # fmt: skip

    given = {
        "catalogue": "shop.npz",
        "store": "sqlite:///shop.db",
        "host": "127.0.0.2",
        "port": 81,
        "workers": 2,
        "policies": {"a": "lmdh:ridge=1,exploration=0.5", "b": "mmr"},
        "split": {"a": 9.0, "b": 1.0},
        "k": 5,
        "mix": 0.1,
        "seed": 7,
        "rate": 50.0,
        "cors_origins": ["https://a.example"],
        "log_level": "error",
        "log_format": "text",
        "allow_anonymous": True,
    }
    assert {name: found[name] for name in given} == given
    assert list(tmp_path.iterdir()) == []


def test_nothing_stated_is_nothing_changed() -> None:
    found = printed()

    assert found["allow_anonymous"] is False
    assert found["policies"] == {"lmdp": "lmdp"}


def test_a_policy_with_options_needs_no_name() -> None:
    assert printed("--policy", "lmdh:ridge=2")["policies"] == {"lmdh": "lmdh:ridge=2"}


@pytest.mark.parametrize(
    ("name", "line"), [("lmdh", "lmdh:ridge=1,exploration=0.3"), ("lmdt", "lmdt"), ("mmr", "mmr")]
)
def test_the_name_of_a_policy_alone_will_do(name: str, line: str) -> None:
    assert printed("--policy", name)["policies"] == {name: line}


def test_printed_settings_can_be_given_back(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    first = run("serve", "--print-config", "--port", 1234, "--policy", "x=lsb")
    path.write_text(first, encoding="utf-8")

    assert run("serve", "--print-config", "--config", path) == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--policy", "lmhd"), "`--policy` must be one of lmdp, "),
        (("--policy", "mine:Own:a=1"), "`--policy` must read NAME=SPEC, got 'mine:Own:a=1'"),
        (("--split", "a"), "`--split` must read NAME=WEIGHT, got 'a'"),
        (("--policy", "a=mmr", "--policy", "a=lsb"), "`--policy` must name each policy once"),
        (("--policy", "a=mrm"), "`policies.a`: `policy` must be one of"),
        (("--split", "lmdh=x"), "`split.lmdh` must be a valid number, got 'x'"),
        (("--port", 70000), "`port` must be less than or equal to 65535, got 70000"),
        (
            ("--log-level", "loud"),
            "`log_level` must be 'debug', 'info', 'warning' or 'error', got 'loud'",
        ),
        (("--config", "none.toml"), "none.toml: cannot read the settings"),
        (("--host", "0.0.0.0"), "`host` 0.0.0.0 lets others reach the service"),  # noqa: S104
    ],
    ids=str,
)
def test_what_will_not_do_is_one_line(words: tuple[object, ...], message: str) -> None:
    options = words if "--host" in words else (*words, "--print-config")

    assert message in fail("serve", *options)


def test_policy_of_ones_own_is_found_in_this_folder(tmp_path: Path) -> None:
    (tmp_path / "own_policy_of_serve.py").write_text(
        "from variegate import LMDH\nclass Mine(LMDH):\n    name = 'mine'\n", encoding="utf-8"
    )

    found = printed("--policy", "m=own_policy_of_serve:Mine:ridge=2")

    assert found["policies"] == {"m": "own_policy_of_serve:Mine:ridge=2"}


def test_service_is_started_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []

    def started(settings: Settings, announce: object) -> None:
        seen.append(settings)
        assert callable(announce)
        announce("it answers")

    monkeypatch.setattr("variegate.service.run.serve", started)

    assert run("serve", "--port", 99) == "it answers\n"
    assert [settings.port for settings in seen] == [99]


def test_missing_parts_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not `variegate.cli.serve`: in the package that name is the command.
    module = sys.modules["variegate.cli.serve"]
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "uvicorn" else name)

    assert fail("serve") == "the service needs uvicorn: pip install 'variegate[service]'"


@pytest.mark.parametrize(
    ("display", "flag", "opened"),
    [
        (":0", "--open", ["http://127.0.0.1:81"]),
        ("", "--open", []),
        (":0", "--log-level=info", []),
    ],
)
def test_the_page_is_opened_where_it_was_asked_for_and_can_be_seen(
    monkeypatch: pytest.MonkeyPatch, display: str, flag: str, opened: list[str]
) -> None:
    found: list[str] = []
    monkeypatch.setattr("webbrowser.open", found.append)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    def started(_settings: Settings, announce: Callable[[str], object]) -> None:
        announce("variegate is running at http://127.0.0.1:81 (API documentation: none)")

    monkeypatch.setattr("variegate.service.run.serve", started)

    assert "http://127.0.0.1:81" in run("serve", flag)
    assert found == opened
