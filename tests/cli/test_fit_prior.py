"""`variegate fit-prior`, on made likes, and `variegate inspect` of what it wrote."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import fail, run
from tests.extras import needs
from variegate.evaluation.tuning import LearnerSettings, TuningResult, load_settings
from variegate.model.catalogue import Catalogue
from variegate.policies import parse_policy
from variegate.prior import ItemPrior

pytestmark = needs("cornac")

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
    assert line.startswith(f"{name}:")
    return words[4], line


def test_prior_and_its_catalogue_are_written_and_reported(here: Path) -> None:
    output = run("fit-prior", here, *SMALL, "--out", "prior.npz")
    prior, catalogue = ItemPrior.load("prior.npz"), Catalogue.load("prior-catalogue.npz")

    assert prior.users == 50
    assert prior.item_ids == catalogue.ids
    assert f"prior.npz: {prior} (" in output
    for line in prior.describe(catalogue):
        assert f"  {line}\n" in output


def test_next_command_makes_a_policy(here: Path) -> None:
    output = run("fit-prior", here, *SMALL, "--out", "prior.npz")
    file, line = policy_of(output)

    policy = parse_policy(line)(Catalogue.load(file))

    assert line == "lmdp:prior=prior.npz"
    assert len(policy.recommend(3)) == 3


def test_catalogue_is_that_of_build(here: Path) -> None:
    run("build", "ratings", "--table", here, *SMALL, "--out", "built.npz")
    run("fit-prior", here, *SMALL, "--out", "prior.npz", "--catalogue-out", "fitted.npz")
    built, fitted = Catalogue.load("built.npz"), Catalogue.load("fitted.npz")

    assert not Path("prior-catalogue.npz").exists()
    assert fitted.ids == built.ids
    np.testing.assert_array_equal(fitted.features, built.features)


def test_prior_of_an_existing_catalogue_leaves_it_as_it_is(here: Path) -> None:
    # Its name is the one that a new catalogue would have.
    shop = Path("prior-catalogue.npz")
    run("build", "ratings", "--table", here, *SMALL, "--most-popular", 20, "--out", shop)
    before = shop.read_bytes()

    output = run("fit-prior", "--catalogue", shop, "--likes", here, "--out", "prior.npz")
    file, _ = policy_of(output)

    assert f"likes are of the 20 items of {shop}, by 40 users" in output
    assert file == str(shop)
    assert shop.read_bytes() == before
    ItemPrior.load("prior.npz").check(Catalogue.load(shop))


@pytest.mark.parametrize("with_catalogue", [False, True])
def test_settings_are_chosen_kept_and_used(here: Path, with_catalogue: bool) -> None:
    words: tuple[object, ...] = (here, *SMALL)
    if with_catalogue:
        run("build", "ratings", "--table", here, *SMALL, "--out", "shop.npz")
        words = ("--catalogue", "shop.npz", "--likes", here)

    more = ("--tune", "--users", 4, "--workers", 1)
    output = run("fit-prior", *words, *more, "--out", "prior.npz")
    chosen, (_, line) = load_settings("prior-tuned.json"), policy_of(output)
    prior = ItemPrior.load("prior.npz")

    assert line == "lmdp:prior=prior.npz"
    assert {"diversity": prior.diversity, "noise": prior.noise} == chosen.values


def save_tuned(settings: LearnerSettings) -> None:
    TuningResult(settings, (), {}, (), 1, 30, 10, 0).save("tuned.json")


def test_settings_that_were_chosen_before_are_used(here: Path) -> None:
    save_tuned(LearnerSettings("lmdp", {"diversity": 0.7, "noise": 0.09}))

    run("fit-prior", here, *SMALL, "--settings", "tuned.json", "--out", "prior.npz")
    prior = ItemPrior.load("prior.npz")

    assert prior.noise == 0.09
    assert prior.diversity == 0.7


def test_settings_of_ease_are_those_of_its_policy(here: Path) -> None:
    save_tuned(LearnerSettings("ease", {"diversity": 0.5, "l2": 20.0}))

    words = ("--settings", "tuned.json", "--out", "prior.npz")
    file, line = policy_of(run("fit-prior", here, *SMALL, *words))

    assert line == "ease:prior=prior.npz,diversity=0.5,l2=20"
    assert len(parse_policy(line)(Catalogue.load(file)).recommend(3)) == 3


def test_inspect_tells_a_prior_in_words(here: Path) -> None:
    ids = [f"item {number}" for number in range(40)]
    titles = [f"Film {number}" for number in range(40)]
    Catalogue(ids, np.eye(40), "cosine", titles=titles).save("shop.npz")
    run("fit-prior", "--catalogue", "shop.npz", "--likes", here, "--out", "prior.npz")

    alone = run("inspect", "prior.npz")
    beside = run("inspect", "prior.npz", "--catalogue", "shop.npz")

    assert alone.startswith("prior.npz: ItemPrior(40 items, 1 distances, fitted to 40 users) (")
    assert "  most users like: item " in alone
    assert "  most users like: Film " in beside
    assert "  diversity: beta of cosine 0.00 ± 0.22\n" in beside
    assert fail("inspect", "prior.npz", "--catalogue", "none.npz") == (
        "no catalogue at none.npz (`variegate build` makes one)"
    )


def test_inspect_with_another_catalogue_is_one_line(here: Path) -> None:
    run("fit-prior", here, *SMALL, "--out", "prior.npz")
    Catalogue(["none", "of these"], np.eye(2), "cosine").save("other.npz")

    line = fail("inspect", "prior.npz", "--catalogue", "other.npz")

    assert line.startswith("`prior` must have the 2 items of Catalogue(2 items")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give DATA, or both --catalogue and --likes"),
        (("LIKES", "--likes", "LIKES"), "give DATA, or both --catalogue and --likes"),
        (("--likes", "LIKES"), "give DATA, or both --catalogue and --likes"),
        (("--catalogue", "shop.npz"), "give DATA, or both --catalogue and --likes"),
        (
            ("--catalogue", "shop.npz", "--likes", "LIKES"),
            "no catalogue at shop.npz (`variegate build` makes one)",
        ),
        (("LIKES", "--settings", "none.json"), "none.json: no such file"),
        (("LIKES", "--catalogue-out", "p.npz"), "it would overwrite its source"),
        (
            ("--catalogue", "s.npz", "--likes", "LIKES", "--catalogue-out", "c.npz"),
            "--catalogue excludes --catalogue-out: it is used as it is",
        ),
        (("LIKES", "--tune", "--settings", "x"), "--settings excludes --tune"),
        (
            ("LIKES", "--tune", "--embeddings", "als", "--d", 2),
            "--tune excludes --embeddings als: its replays fit embeddings by bpr",
        ),
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
