"""`variegate evaluate-log`: a log with random exploration shows what other policies would earn."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.logged import evaluated, refusal
from tests.cli.running import fail, run
from tests.cli.serving import Place
from tests.cli.world import FIXED, ITEMS, LMDH, MIX, K, Served, catalogue, clicks_of, serve
from variegate.model.slate import slate_of
from variegate.policies import parse_policy

pytestmark = pytest.mark.usefixtures("new_folder")

USERS, ROUNDS = 50, 12
#: No list is rarer than 0.3 / 5 times 0.3 / 4, and the squares of what lists earn are 1 on average.
LARGEST_ERROR = np.sqrt(1.0 / (MIX / 5 * MIX / 4) / (USERS * ROUNDS))
OTHER = "lmdh:ridge=10,normaliser=none"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a folder with the catalogue of the small world."""
    found = Place(tmp_path_factory.mktemp("logged"))
    catalogue().save(found.catalogue)
    return found


@pytest.fixture(scope="module")
def served(place: Place) -> Served:
    """Serve fifty users with random exploration, and store the log."""
    return serve(place, "shop", LMDH, users=USERS, rounds=ROUNDS, seed=3)


@pytest.fixture(scope="module")
def fixed(place: Place) -> float:
    """Return what the lists of FIXED are worth to the users to whom they are shown."""
    shown = serve(place, "fixed", FIXED, users=USERS, rounds=1, seed=5, mix=0.0)
    return float(shown.expected.mean())


@pytest.fixture(scope="module")
def drawn(place: Place) -> str:
    """Serve fifty users by a policy that draws; return the name of the store."""
    serve(place, "drawn", "lmdt:exploration=1", users=USERS, rounds=ROUNDS, seed=3)
    return "drawn"


def test_the_policy_that_was_served_earned_what_was_seen(place: Place, served: Served) -> None:
    found = evaluated(place, "--policy", LMDH)

    assert (found["lists"], found["k"], found["users"]) == (USERS * ROUNDS, K, USERS)
    assert found["mixes"] == [MIX]
    assert found["notes"] == []
    value = found["policies"][LMDH]
    # The replay finds each list's own propensities again: all weights are 1.
    assert value["value"] == pytest.approx(served.clicks.sum(axis=2).mean(), rel=1e-9)
    assert value["effective_sample_size"] == pytest.approx(USERS * ROUNDS)
    assert value["warnings"] == []


@pytest.mark.parametrize("estimator", ["rips", "sips", "dr"])
@pytest.mark.usefixtures("served")
def test_another_policy_earns_what_it_earns_when_it_is_served(
    place: Place, fixed: float, estimator: str
) -> None:
    found = evaluated(place, "--policy", FIXED, "--mix", 0, "--estimator", estimator)

    (value,) = found["policies"].values()
    assert abs(value["value"] - fixed) < 3.0 * value["standard_error"]
    assert value["standard_error"] < LARGEST_ERROR


@pytest.mark.parametrize("estimator", ["rips", "dr"])
def test_a_log_of_a_policy_that_draws_is_evaluated_whole(
    place: Place, drawn: str, fixed: float, estimator: str
) -> None:
    asked = "--policy", FIXED, "--mix", 0, "--estimator", estimator

    found = evaluated(place, *asked, store=drawn)

    assert (found["lists"], found["notes"]) == (USERS * ROUNDS, [])
    (value,) = found["policies"].values()
    assert abs(value["value"] - fixed) < 3.0 * value["standard_error"]
    assert found == evaluated(place, *asked, store=drawn)  # the policy draws, the command does not


def lists_along(served: Served, line: str) -> float:
    """Return what a policy's lists are worth when it learns from the lists that were shown."""
    items, worth = catalogue(), []
    for user in range(USERS):
        policy = parse_policy(line)(items)
        for shown, clicks in zip(served.items[:, user], served.clicks[:, user], strict=True):
            worth.append(clicks_of(f"u{user}", policy.recommend(K).items).sum())
            policy.update(slate_of(items, shown, np.zeros(K), policy.normaliser), clicks)
    return float(np.mean(worth))


@pytest.mark.parametrize("estimator", ["rips", "dr"])
def test_a_policy_that_learns_is_valued_along_the_log(
    place: Place, served: Served, estimator: str
) -> None:
    found = evaluated(place, "--policy", OTHER, "--mix", 0, "--estimator", estimator)

    value = found["policies"][OTHER]
    assert abs(value["value"] - lists_along(served, OTHER)) < 3.0 * value["standard_error"]
    assert value["standard_error"] < LARGEST_ERROR


@pytest.mark.usefixtures("served")
def test_self_normalised_is_steadier(place: Place) -> None:
    plain, normalised = (
        evaluated(place, "--policy", OTHER, *words)["policies"][OTHER]["standard_error"]
        for words in ((), ("--self-normalised",))
    )

    assert normalised < plain


@pytest.mark.usefixtures("served")
def test_the_log_as_a_file_says_the_same(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "shown.jsonl"
    policies = ("--policy", LMDH, "--policy", FIXED)

    stored = evaluated(place, *policies, "--out", path)
    result = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--json", *policies)

    assert len(path.read_text(encoding="utf-8").splitlines()) == USERS * ROUNDS
    from_file = json.loads(result)
    assert (from_file["lists"], from_file["mixes"]) == (USERS * ROUNDS, [MIX])
    for name, value in stored["policies"].items():
        assert from_file["policies"][name]["value"] == pytest.approx(value["value"])


@pytest.mark.usefixtures("served")
def test_table_and_words(place: Place) -> None:
    words = ("evaluate-log", "--store", place.url(), "--catalogue", place.catalogue)

    lines = run(*words, "--policy", LMDH, "--policy", "mmr:trade_off=1", "--mix", 0).splitlines()

    assert lines[0] == f"{USERS * ROUNDS} lists of {K} items for {USERS} users, mix {MIX}"
    assert " ".join(lines[1].split()) == "policy reward per list 95% interval effective sample size"
    assert lines[2].startswith("the log itself")
    assert lines[3].split()[0] == LMDH
    assert lines[-1].startswith("mmr:trade_off=1: effective sample size: ")
    assert lines[-1].endswith(" lists, too few (at least 50)")


def test_pseudo_inverse_finds_what_the_served_policy_earned(
    place: Place, served: Served, tmp_path: Path
) -> None:
    (tmp_path / "shop.toml").write_text(f'[policies]\nserved = "{LMDH}"\n', encoding="utf-8")
    out, asked = (
        tmp_path / "shown.jsonl",
        ("--policy", LMDH, "--policy", FIXED, "--estimator", "pi"),
    )

    found = evaluated(place, *asked, "--config", "shop.toml", "--out", out)
    result = run("evaluate-log", "--log", out, *asked, "--config", "shop.toml", "--json",
               "--catalogue", place.catalogue)  # fmt: skip

    assert (found["lists"], found["notes"]) == (USERS * ROUNDS, [])
    own, fixed = found["policies"].values()
    # The target's pairs are those of the log: all weights are 1.
    assert own["value"] == pytest.approx(served.clicks.sum(axis=2).mean(), rel=1e-6)
    assert own["effective_sample_size"] == pytest.approx(USERS * ROUNDS)
    assert fixed["mean_weight"] == pytest.approx(1.0, abs=0.2)
    from_file = list(json.loads(result)["policies"].values())
    assert [one["value"] for one in from_file] == pytest.approx([own["value"], fixed["value"]])


@pytest.mark.usefixtures("served")
def test_pseudo_inverse_needs_the_policy_that_made_the_log(place: Place) -> None:
    assert refusal(place, "--estimator", "pi").endswith(
        f"no list can be evaluated: {USERS * ROUNDS} lists: their propensities are not those of a "
        "policy in the service's settings, which `pi` needs (--config)"
    )


@pytest.mark.usefixtures("served")
def test_policies_of_the_service_are_the_default(place: Place) -> None:
    assert list(evaluated(place)["policies"]) == ["lmdp"]


def test_what_was_never_shown_is_not_guessed(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "shown.jsonl"
    line = {"user": "u", "items": ["0", "1"], "propensities": [0.5, 0.5], "rewards": [1, 0]}
    path.write_text((json.dumps(line) + "\n") * 3, encoding="utf-8")

    result = run("evaluate-log", "--log", path, "--catalogue", place.catalogue, "--policy", FIXED)

    assert "popular:popularity=[4, 1, 2, 3, 5]: the log has no list that it would show" in result
    assert (
        f"3 lists without candidates in the log: assumed to be chosen from all {ITEMS} items"
        in result
    )
    assert "all lists are one user's: the intervals are about that user only" in result


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--k", 7), "`k` must be a length of lists with feedback (2), got 7"),
        (("--mix", 2), "`mix` must"),
        (("--policy", "uniform"), "`policy` must choose the same list every time, got uniform"),
        (("--policy", "lmdt", "--estimator", "pi"), "`policy` must choose the same list every"),
        (("--policy", "lmbh"), "`policy` must be one of"),
        (("--estimator", "risp"), "`estimator` must be one of rips, sips, dr, pi, got 'risp'"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("served")
def test_questions_that_make_no_sense_are_refused(
    place: Place, words: tuple[object, ...], message: str
) -> None:
    assert refusal(place, *words).startswith(message)


def test_store_of_a_password_is_not_reported() -> None:
    message = fail("evaluate-log", "--store", "postgresql://me:secret@127.0.0.1:1/none")

    assert "secret" not in message
