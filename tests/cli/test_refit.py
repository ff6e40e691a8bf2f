"""`variegate fit-prior --store`: what users of a service begin with, from those that it has."""

import json
from pathlib import Path

import pytest

from tests.cli.running import fail, run
from tests.engine.crowd import fill, kiosk, kiosk_shop
from variegate import Prior
from variegate.store import Store


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the flags that name a service of 45 users who gave feedback."""
    monkeypatch.setenv("VARIEGATE_PRIOR_MIN_USERS", "40")
    kiosk().save(tmp_path / "kiosk.npz")
    url = f"sqlite:///{tmp_path}/kiosk.db"
    with Store.open(url) as store:
        fill(kiosk_shop(store))
    return ["--store", url, "--catalogue", str(tmp_path / "kiosk.npz")]


def test_it_is_fitted_kept_and_reported(flags: list[str], tmp_path: Path) -> None:
    file = tmp_path / "prior.npz"

    printed = run("fit-prior", *flags, "--out", file)

    assert "lmdp: version 1 of its prior" in printed
    assert "fitted to 45 users" in printed
    assert "most users like: sweet" in printed
    with Store.open(flags[1]) as store:
        view = kiosk_shop(store).engine.priors.view("lmdp")
    assert (view["version"], view["users"]) == (1, 45)
    kept = Prior.load(file)
    assert [one["mean"] for one in view["relevance"]] == kept.mean[:3].tolist()


def test_states_are_still_what_the_log_says(flags: list[str]) -> None:
    run("fit-prior", *flags, "--policy", "lmdp")
    assert "All states match the log: 45 users." in run("rebuild", "--check", *flags)


@pytest.mark.parametrize(
    ("policies", "words", "message"),
    [
        ({"a": "lmdp", "b": "lmdt"}, [], "`--policy` must be one of a, b"),
        ({"a": "mmr"}, [], "`--policy` must be a policy with a prior: the service has none"),
        ({"a": "lmdp"}, ["--policy", "b"], "no policy 'b': there are a"),
        (
            {"a": "mmr"},
            ["--policy", "a"],
            "policy 'a' (mmr) has no prior that can be fitted to users",
        ),
        ({"a": "lmdp"}, [], "at least 40 users with feedback, so that no single user is revealed"),
        ({"a": "lmdp"}, ["ml-100k"], "--store excludes DATA, --likes, --tune and --settings"),
    ],
)
def test_what_will_not_do_is_one_line(
    flags: list[str],
    monkeypatch: pytest.MonkeyPatch,
    policies: dict[str, str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("VARIEGATE_POLICIES", json.dumps(policies))
    assert message in fail("fit-prior", *flags, *words)


def test_a_store_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    assert "there is no" in fail("fit-prior", "--store", f"sqlite:///{tmp_path}/none.db")
