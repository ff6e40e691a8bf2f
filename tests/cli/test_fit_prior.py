"""`variegate fit-prior`, on made likes, and `variegate inspect` of what it wrote."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import fail, run
from variegate.evaluation.tuning_result import LearnerSettings, TuningResult
from variegate.model.catalogue import Catalogue
from variegate.policies import parse_policy
from variegate.prior import Prior

pytest.importorskip("cornac", reason="cornac is not installed")

SMALL = ("--d", 3, "--epochs", 5)


@pytest.fixture
def here(likes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder; return the table of likes."""
    monkeypatch.chdir(tmp_path)
    return likes


def policy_of(output: str) -> tuple[str, str]:
    """Return the catalogue and the policy of the command that is to be typed next."""
    words = shlex.split(output.splitlines()[-1])
    assert words[:4] == ["Next:", "variegate", "serve", "--catalogue"]
    assert words[5] == "--policy"
    name, _, line = words[6].partition("=")
    assert name == "lmdp"
    return words[4], line


def test_prior_and_its_catalogue_are_written_and_reported(here: Path) -> None:
    output = run("fit-prior", here, *SMALL, "--out", "prior.npz")
    prior, catalogue = Prior.load("prior.npz"), Catalogue.load("prior-catalogue.npz")

    assert prior.users == 50
    assert prior.feature_names == catalogue.feature_names
    assert catalogue.features[:, catalogue.feature_names.index("popularity")].max() == 1.0
    assert f"prior.npz: a prior over {prior.d} features, distances: cosine" in output
    for line in prior.describe(catalogue):
        assert f"  {line}\n" in output


def test_next_command_makes_a_policy(here: Path) -> None:
    output = run("fit-prior", here, *SMALL, "--out", "prior.npz")
    file, line = policy_of(output)

    policy = parse_policy(line)(Catalogue.load(file))

    assert line == "lmdp:prior=prior.npz"
    assert len(policy.recommend(3)) == 3


def test_distances_of_a_saved_catalogue_know_nothing_of_popularity(here: Path) -> None:
    run("build", "ratings", "--table", here, *SMALL, "--out", "plain.npz")
    run("fit-prior", here, *SMALL, "--out", "prior.npz")
    plain, popular = Catalogue.load("plain.npz"), Catalogue.load("prior-catalogue.npz")

    np.testing.assert_allclose(popular.distances[0].matrix(), plain.distances[0].matrix())


def test_prior_of_a_catalogue_keeps_its_features(here: Path) -> None:
    run("build", "ratings", "--table", here, *SMALL, "--most-popular", 20, "--out", "shop.npz")

    output = run("fit-prior", "--catalogue", "shop.npz", "--likes", here, "--out", "prior.npz")
    shop, after = Catalogue.load("shop.npz"), Catalogue.load("prior-catalogue.npz")

    assert "likes are of the 20 items of shop.npz, by 40 users" in output
    assert after.ids == shop.ids
    assert "popularity" in after.feature_names[shop.d :]
    np.testing.assert_array_equal(after.features[:, : shop.d], shop.features)
    Prior.load("prior.npz").check(after)


def test_prior_can_be_fitted_again_to_the_catalogue_that_it_came_with(here: Path) -> None:
    run("fit-prior", here, *SMALL, "--out", "prior.npz")

    words = ("--catalogue", "prior-catalogue.npz", "--likes", here, "--out", "again.npz")
    run("fit-prior", *words, "--catalogue-out", "same.npz")
    first, again = Prior.load("prior.npz"), Prior.load("again.npz")

    assert Catalogue.load("same.npz").feature_names == first.feature_names
    np.testing.assert_allclose(again.mean, first.mean)


@pytest.mark.parametrize("with_catalogue", [False, True])
def test_settings_are_chosen_kept_and_used(here: Path, with_catalogue: bool) -> None:
    words: tuple[object, ...] = (here, *SMALL)
    if with_catalogue:
        run("build", "ratings", "--table", here, *SMALL, "--out", "shop.npz")
        words = ("--catalogue", "shop.npz", "--likes", here)

    more = ("--tune", "--users", 4, "--workers", 1)
    output = run("fit-prior", *words, *more, "--out", "prior.npz")
    chosen, (_, line) = TuningResult.load("prior-tuned.json"), policy_of(output)

    assert chosen.users == {"likes": 4}
    assert line == chosen.settings.policy_spec("prior.npz")
    assert Prior.load("prior.npz").mean[-1] == pytest.approx(chosen.settings.opening)


def test_settings_that_were_chosen_before_are_used(here: Path) -> None:
    usual = LearnerSettings().noise_factor
    settings = LearnerSettings(0.7, 0.2, 0.9, 40.0, noise_factor=3 * usual, beta_variance=0.09)
    TuningResult(settings, (), {}, (), ("cosine",), 1, 30, 10, 0).save("tuned.json")

    run("fit-prior", here, *SMALL, "--out", "plain.npz")
    words = ("--settings", "tuned.json", "--out", "prior.npz")
    _, line = policy_of(run("fit-prior", here, *SMALL, *words))
    plain, prior = Prior.load("plain.npz"), Prior.load("prior.npz")

    assert line == "lmdp:prior=prior.npz,exploration=0.7,floor=[0.2,0.9,40]"
    assert prior.noise == pytest.approx(3 * plain.noise)
    assert prior.mean[-1] == pytest.approx(0.2)
    assert prior.covariance[-1, -1] == pytest.approx(0.09)


def test_inspect_tells_a_prior_in_words(here: Path) -> None:
    run("fit-prior", here, *SMALL, "--out", "prior.npz")

    alone = run("inspect", "prior.npz")
    beside = run("inspect", "prior.npz", "--catalogue", "prior-catalogue.npz")

    assert alone.startswith("prior.npz: a prior over ")
    assert "unnamed features: pass a catalogue for examples" in alone
    assert "users differ most between: item" in beside
    assert fail("inspect", "prior.npz", "--catalogue", "none.npz") == "no catalogue at none.npz"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give DATA, or both --catalogue and --likes"),
        (("LIKES", "--likes", "LIKES"), "give DATA, or both --catalogue and --likes"),
        (("--likes", "LIKES"), "give DATA, or both --catalogue and --likes"),
        (("--catalogue", "shop.npz"), "give DATA, or both --catalogue and --likes"),
        (("--catalogue", "shop.npz", "--likes", "LIKES"), "no catalogue at shop.npz"),
        (("LIKES", "--settings", "none.json"), "no tuned settings at none.json"),
        (("LIKES", "--catalogue-out", "p.npz"), "it would overwrite its source"),
        (("LIKES", "--tune", "--settings", "x"), "--settings excludes --tune"),
        (("ml-100",), "got 'ml-100': did you mean 'ml-100k'?"),
    ],
)
def test_what_will_not_do_is_one_line(here: Path, words: tuple[str, ...], message: str) -> None:
    given = [here if word == "LIKES" else word for word in words]

    assert fail("fit-prior", *given, "--out", "p.npz").endswith(message)


def test_likes_of_other_items_are_one_line(here: Path) -> None:
    Catalogue(["none", "of these"], np.eye(2), "cosine").save("other.npz")

    line = fail("fit-prior", "--catalogue", "other.npz", "--likes", here, "--out", "p.npz")

    assert line == "other.npz: none of the 50 items of likes is in it"
