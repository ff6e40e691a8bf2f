"""`variegate build`: a catalogue file from every kind of source."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.running import archive, fail, in_a_process, run
from tests.paths import FIXTURES
from variegate.cli.build import NAMES
from variegate.data.download import DATASETS
from variegate.data.embeddings import make_embeddings
from variegate.model.catalogue import Catalogue

LIKES = FIXTURES / "likes.csv"
SHOP = """sku,name,tags,price,brand,note
a,Axe,tool|garden,30,Oak,a heavy axe for wood
b,Bow,sport,80,Elm,a light bow for sport
c,Cup,kitchen|gift,?,Oak,a cup for tea
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is trained away from the user's own."""
    monkeypatch.setenv("VARIEGATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "made.npz"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.csv"
    path.write_text(SHOP, encoding="utf-8")
    return path


@pytest.fixture
def stars(tmp_path: Path) -> Path:
    """Write stars of 12 readers: the even ones like a and b, the others b and c."""
    lines = ["reader,sku,stars"]
    for reader in range(12):
        ratings = {"a": 5, "b": 4, "c": 1} if reader % 2 == 0 else {"a": 2, "b": 4, "c": 5}
        lines += [f"r{reader},{item},{star}" for item, star in ratings.items()]
    path = tmp_path / "stars.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def rated(stars: Path, out: Path, *more: object) -> list[object]:
    columns = ["--user", "reader", "--item", "sku", "--rating", "stars", "--threshold", "3"]
    return ["build", "ratings", "--table", stars, *columns, "--epochs", "3", "--out", out, *more]


def test_films_are_built_and_the_next_command_is_reported(out: Path) -> None:
    pytest.importorskip("bokeh_sampledata", reason="the films are not installed")

    done = in_a_process("build", "films", "--films", "60", "--out", out)

    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first.startswith(f"{out}: 60 items, ")
    assert "distances: features, genres, years, countries (" in first
    assert second == f"Next: variegate inspect {out}"
    assert len(Catalogue.load(out)) == 60


def test_every_known_data_set_has_a_command() -> None:
    assert set(NAMES) == set(DATASETS)


@pytest.mark.parametrize(
    ("name", "distances", "items"),
    [
        ("ml-100k", ["cosine", "genres", "years"], 4),
        ("ml-1m", ["angular", "years"], 3),
        ("anime", ["euclidean", "genres"], 3),
    ],
)
def test_known_data_set_is_built_from_its_folder(
    name: str, distances: list[str], items: int, out: Path
) -> None:
    asked = [word for distance in distances for word in ("--distance", distance)]

    output = run(
        "build", name, "--path", FIXTURES / name, "--d", 2, "--epochs", 2, *asked, "--out", out
    )

    made = Catalogue.load(out)
    assert (len(made), made.d) == (items, 2)
    assert [h.name for h in made.distances] == distances
    assert f"{name}: " in output
    assert made.mean_user is not None


def test_known_data_set_is_found_in_the_data_folder(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(FIXTURES))

    run("build", "ml-1m", "--epochs", "1", "--out", out)

    made = Catalogue.load(out)
    assert made.d == 10
    assert [h.name for h in made.distances] == ["cosine"]
    assert made.attributes["popularity"] == (1, 1, 1)


def test_real_archive_gives_every_film_a_vector(out: Path) -> None:
    path = archive("ml-100k.zip")

    output = run("build", "ml-100k", "--path", path, "--epochs", "2", "--out", out)

    assert output.startswith("ml-100k: 55,375 likes of 942 users and 1,447 items\n")
    assert len(Catalogue.load(out)) == 1_447


def test_share_of_the_users_and_the_most_popular_items_are_kept(out: Path) -> None:
    path = archive("ml-100k.zip")
    words = ["build", "ml-100k", "--path", path, "--epochs", "1", "--train", "0.8"]

    output = run(*words, "--most-popular", "100", "--out", out)
    made = Catalogue.load(out)
    run(*words, "--out", out)
    whole = Catalogue.load(out)

    assert "Fitting to 754 of the users: " in output
    popularity = dict(zip(whole.ids, whole.attributes["popularity"], strict=True))
    left_out = set(whole.ids) - set(made.ids)
    assert len(made) == 100
    assert min(made.attributes["popularity"]) >= max(popularity[item] for item in left_out)
    np.testing.assert_array_equal(made.features, whole.features[whole.rows(made.ids)])


def test_same_seed_gives_the_same_catalogue_and_another_does_not(stars: Path, out: Path) -> None:
    def features(seed: str) -> bytes:
        run(*rated(stars, out, "--seed", seed, "--no-cache"))
        return Catalogue.load(out).features.tobytes()

    assert features("1") == features("1") != features("2")


def test_embeddings_are_fitted_by_als_if_asked_for(stars: Path, out: Path) -> None:
    pytest.importorskip("implicit")
    als = ("--embeddings", "als", "--d", "2", "--no-cache")

    run(*rated(stars, out, *als))

    assert Catalogue.load(out).d == 2
    assert fail(*rated(stars, out, *als, "--learning-rate", "0.1")) == (
        "`--learning-rate` is of --embeddings bpr: als has none"
    )
    assert fail(*rated(stars, out, "--embeddings", "asl")) == (
        "`embeddings` must be one of bpr, als, got 'asl': did you mean 'als'?"
    )


def test_second_training_is_taken_from_the_cache(stars: Path, out: Path, cache: Path) -> None:
    first, second = run(*rated(stars, out)), run(*rated(stars, out))

    assert "taken from the cache" not in first
    assert "Embeddings taken from the cache" in second
    assert len(list(cache.iterdir())) == 1


def test_no_cache_keeps_nothing(stars: Path, out: Path, cache: Path) -> None:
    run(*rated(stars, out, "--no-cache"))

    assert not cache.exists()


@pytest.mark.parametrize("watched", [True, False])
def test_bar_is_drawn_on_a_terminal_only(
    watched: bool, stars: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1" if watched else "")

    assert ("Fitting embeddings" in run(*rated(stars, out))) == watched


def test_ratings_come_with_the_item_table_that_is_named(stars: Path, shop: Path, out: Path) -> None:
    columns = ["--items", shop, "--title", "name", "--list", "tags", "--number", "price"]
    asked = ["--missing", "?", "--distance", "cosine", "--distance", "genres"]

    output = run(*rated(stars, out, *columns, *asked))

    made = Catalogue.load(out)
    assert output.startswith("stars: 24 likes of 12 users and 3 items\n")
    assert made.titles == ("Axe", "Bow", "Cup")
    assert made.attributes["price"] == (30, 80, None)
    assert made.attributes["popularity"] == (6, 12, 6)
    assert made.distances[1].from_item(0).tolist() == [0.0, 1.0, 1.0]


def test_every_row_is_a_like_without_ratings(out: Path, tmp_path: Path) -> None:
    likes = tmp_path / "likes.tsv"
    likes.write_text("user\titem\nann\tx\nann\ty\nbob\ty\n", encoding="utf-8")

    output = run("build", "ratings", "--table", likes, "--epochs", "1", "--out", out)

    assert output.startswith("likes: 3 likes of 2 users and 2 items\n")


def test_items_alone_make_a_catalogue(shop: Path, out: Path) -> None:
    done = in_a_process(
        *("build", "items", shop, "--id", "sku", "--title", "name", "--list", "tags"),
        *("--number", "price", "--category", "brand", "--text", "note", "--missing", "?"),
        *("--out", out),
    )

    assert (done.returncode, done.stderr) == (0, "")
    made = Catalogue.load(out)
    assert made.titles == ("Axe", "Bow", "Cup")
    assert [h.name for h in made.distances] == ["cosine", "price", "brand", "tags"]
    assert {"tool", "price", "brand: Oak"} <= set(made.feature_names)


def test_items_have_the_distances_that_were_asked_for(shop: Path, out: Path) -> None:
    columns = ["--id", "sku", "--list", "tags", "--category", "brand"]

    run("build", "items", shop, *columns, "--distance", "brand", "--out", out)

    made = Catalogue.load(out)
    assert [h.name for h in made.distances] == ["brand"]
    assert made.titles == ("a", "b", "c")


def test_lists_are_split_where_the_option_says(tmp_path: Path, out: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text("id;tags\n1;a+b\n2;b\n", encoding="latin-1")
    options = ["--separator", ";", "--list-separator", "+", "--encoding", "latin-1"]

    run("build", "items", table, "--id", "id", "--list", "tags", *options, "--out", out)

    assert Catalogue.load(out).attributes["tags"] == (["a", "b"], ["b"])


@pytest.mark.parametrize(
    "ids", [np.array([7, 8, 9]), np.array(["7", "8", "9"]), np.array([b"7", b"8", b"9"])]
)
def test_vectors_come_with_their_ids(ids: NDArray[np.generic], tmp_path: Path, out: Path) -> None:
    np.savez(tmp_path / "v.npz", ids=ids, vectors=2 * np.eye(3), mean_user=np.ones(3))

    run("build", "vectors", tmp_path / "v.npz", "--distance", "angular", "--out", out)

    made = Catalogue.load(out)
    assert made.ids == ("7", "8", "9")
    np.testing.assert_array_equal(made.features, np.eye(3))
    np.testing.assert_array_equal(made.mean_user, np.ones(3))
    assert (made.feature_scale, made.distances[0].name) == (2.0, "angular")


def test_vectors_alone_take_ids_from_lines_and_titles_from_a_table(
    shop: Path, tmp_path: Path, out: Path
) -> None:
    np.save(tmp_path / "v.npy", np.eye(3))
    (tmp_path / "ids.txt").write_text("c\r\nb\r\nnew\r\n", encoding="utf-8")
    table = ["--items", shop, "--items-id", "sku", "--title", "name", "--list", "tags"]

    done = in_a_process(
        *("build", "vectors", tmp_path / "v.npy", "--ids", tmp_path / "ids.txt", *table),
        *("--normalise", "row", "--out", out),
    )

    assert (done.returncode, done.stderr) == (0, "")
    made = Catalogue.load(out)
    assert made.ids == ("c", "b", "new")
    assert made.titles == ("Cup", "Bow", "new")
    assert made.attributes["tags"] == (["kitchen", "gift"], ["sport"], [])


def test_saved_embeddings_are_taken_as_they_are(tmp_path: Path, out: Path) -> None:
    saved = tmp_path / "saved.npz"
    make_embeddings(["x", "y"], [[4.0, 0.0], [0.0, 2.0]]).save(saved)

    run("build", "vectors", saved, "--out", out)

    made = Catalogue.load(out)
    assert made.features.tolist() == [[1.0, 0.0], [0.0, 0.5]]
    assert made.feature_scale == 4.0
    assert "is normalised" in fail("build", "vectors", saved, "--normalise", "row", "--out", out)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"ids": np.arange(2)}, "v.npz: no array `vectors`"),
        ({"vectors": np.eye(2)}, "v.npz: no array `ids`: give a file of ids"),
        ({"ids": np.arange(3), "vectors": np.eye(2)}, "v.npz: 2 ids expected, one a vector, got 3"),
        ({"ids": np.arange(2.0), "vectors": np.eye(2)}, "v.npz: `ids` must be one text or whole"),
        ({"ids": np.eye(2, dtype=int), "vectors": np.eye(2)}, "int64 of shape (2, 2)"),
        ({"ids": np.array(["a", 1], dtype=object), "vectors": np.eye(2)}, "holds Python objects"),
        (
            {"ids": np.arange(2), "vectors": np.eye(2) * 1j},
            "`vectors` must hold numbers, got compl",
        ),
        ({"ids": np.arange(2), "vectors": np.full((2, 2), np.nan)}, "must be finite, got nan"),
        ({"ids": np.arange(2), "vectors": np.ones(2)}, "v.npz: `vectors` must have 2 axes"),
        ({"ids": np.array(["a", "a"]), "vectors": np.eye(2)}, "must be distinct, got 'a' twice"),
    ],
)
def test_vectors_that_cannot_be_meant_are_one_line(
    arrays: dict[str, NDArray[np.generic]],
    message: str,
    tmp_path: Path,
    out: Path,
) -> None:
    np.savez(tmp_path / "v.npz", **arrays)  # type: ignore[arg-type]

    assert message in fail("build", "vectors", tmp_path / "v.npz", "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"sku,name\n", "v.npz: not an .npz or .npy file"),
        (b"", "v.npz: not an .npz or .npy file"),
        (b"PK\x03\x04 cut off", "v.npz: not a complete .npz or .npy file: "),
        (b"\x93NUMPY\x01\x00", "v.npz: not a complete .npz or .npy file: "),
    ],
)
def test_file_that_holds_no_arrays_is_one_line(
    content: bytes, message: str, tmp_path: Path, out: Path
) -> None:
    (tmp_path / "v.npz").write_bytes(content)

    assert message in fail("build", "vectors", tmp_path / "v.npz", "--out", out)


def test_ids_are_reported_by_their_line(tmp_path: Path, out: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(2))
    (tmp_path / "ids.txt").write_text("a\n\nb\n", encoding="utf-8")

    line = fail("build", "vectors", tmp_path / "v.npy", "--ids", tmp_path / "ids.txt", "--out", out)

    assert line == f"{tmp_path / 'ids.txt'}:2: expected an id, got an empty line"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["films", "--films", "0"], "`films` must be from 1 to"),
        (["ml-100k", "--path", "nowhere"], "nowhere: no such file or folder"),
        (["ml-100k", "--path", FIXTURES / "ml-100k", "--train", "2"], "`train` must be a number"),
        (["ml-100k", "--path", FIXTURES / "ml-100k", "--d", "0"], "`d` must be at least 1, got 0"),
        (["anime", "--path", FIXTURES / "anime", "--distance", "years"], "got 'years'"),
        (["ml-1m", "--path", FIXTURES / "ml-1m", "--distance", "genre"], "did you mean 'genres'?"),
        (["ml-1m", "--path", FIXTURES / "ml-1m", "--normalise", "rows"], "did you mean 'row'?"),
        (
            ["ml-1m", "--path", FIXTURES / "ml-1m", "--most-popular", "4"],
            "`most_popular` must be from 1 to 3 (the liked items), got 4",
        ),
        (
            ["ratings", "--table", LIKES, "--rating", "stars"],
            "`rating` and `threshold`",
        ),
        (["ratings", "--table", FIXTURES / "likes.csv", "--user", "usr"], "did you mean 'user'?"),
        (
            ["ratings", "--table", FIXTURES / "likes.csv", "--list", "tags"],
            "needs `items`, the path",
        ),
        (["ratings", "--table", FIXTURES / "broken" / "short_line.csv"], "short_line.csv:"),
        (["items", FIXTURES / "books.csv"], "name at least one column with --list, --number"),
        (["items", FIXTURES / "books.csv", "--list", "tag"], "no column 'tag' among"),
        (["items", FIXTURES / "books.csv", "--list", "tags"], "got item 'b3'"),
        (["items", "books.xls", "--list", "tags"], "must end in .csv, .tsv or .parquet"),
        (["vectors", "nowhere.npz"], "nowhere.npz: no such file"),
        (["vectors", "nowhere.npz", "--title", "name"], "nowhere.npz: no such file"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: list[object], message: str, out: Path, cache: Path
) -> None:
    assert message in fail("build", *words, "--out", out)
    assert not out.exists()
    assert not cache.exists()


def test_columns_without_a_table_are_one_line(tmp_path: Path, out: Path) -> None:
    np.savez(tmp_path / "v.npz", ids=np.arange(2), vectors=np.eye(2))

    line = fail("build", "vectors", tmp_path / "v.npz", "--title", "name", "--out", out)

    assert line == "columns need --items, the path of an item table"


def test_place_that_cannot_be_written_is_reported_before_anything_is_done(
    shop: Path, tmp_path: Path
) -> None:
    words = ["build", "items", shop, "--id", "no such column", "--list", "tags", "--out"]

    assert fail(*words, tmp_path) == f"{tmp_path}: cannot be written: it is a folder"
    assert "there is no folder" in fail(*words, tmp_path / "none" / "shop.npz")
    assert "would overwrite its source" in fail(*words, tmp_path / "." / "shop.csv")
    assert shop.read_text(encoding="utf-8") == SHOP


def test_long_vectors_become_few_features(tmp_path: Path, out: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 768))
    np.savez(tmp_path / "v.npz", ids=np.arange(30), vectors=vectors)

    assert "30 items, 16 features, distances: cosine" in run(
        "build", "vectors", tmp_path / "v.npz", "--out", out
    )
    refused = fail("build", "vectors", tmp_path / "v.npz", "--features", "all", "--out", out)
    assert "would take 2.4 MB" in refused


def test_an_open_catalogue_has_names_and_no_items(out: Path) -> None:
    options = ("--feature", "age", "--list", "tags", "--category", "brand", "--number", "year=50")
    printed = run("build", "open", *options, "--out", out)

    assert f"Next: variegate serve --catalogue {out}" in " ".join(printed.split())
    found = Catalogue.load(out)
    assert repr(found) == "Catalogue(open, 2 features, distances: cosine, tags, brand, year)"
    assert found.distances[3].scale == 50.0
    run("build", "open", "--distance", "none", "--category", "brand", "--out", out)
    assert [h.name for h in Catalogue.load(out).distances] == ["brand"]
    wrong = "`--number` must read NAME=SCALE with a scale above 0, got "
    for text in ("year", "year=0", "year=x"):
        assert wrong + repr(text) in fail("build", "open", "--number", text, "--out", out)


def test_a_catalogue_gets_a_feature_for_scores(tmp_path: Path, shop: Path, out: Path) -> None:
    run("build", "items", shop, "--id", "sku", "--list", "tags", "--out", tmp_path / "shop.npz")
    run("build", "scored", tmp_path / "shop.npz", "--out", out)

    assert Catalogue.load(out).feature_names[-1] == "score"


def test_kept_columns_are_stored(shop: Path, out: Path) -> None:
    run("build", "items", shop, "--id", "sku", "--list", "tags", "--keep", "note", "--out", out)
    catalogue = Catalogue.load(out)
    assert catalogue.attributes["note"][0] == "a heavy axe for wood"
    assert "note" not in {h.name for h in catalogue.distances}


def test_kept_columns_alone_make_no_catalogue(shop: Path, out: Path) -> None:
    assert fail("build", "items", shop, "--id", "sku", "--keep", "note", "--out", out) == (
        "name at least one column with --list, --number, --category or --text"
    )


COLUMNS = (
    "--id",
    "sku",
    "--title",
    "name",
    "--list",
    "tags",
    "--number",
    "price",
    "--missing",
    "?",
)


def test_larger_table_keeps_the_features_of_an_earlier_catalogue(
    shop: Path, out: Path, tmp_path: Path
) -> None:
    run("build", "items", shop, *COLUMNS, "--out", out)
    before, larger = Catalogue.load(out), tmp_path / "larger.npz"
    shop.write_text(
        "sku,name,tags,price,size\nd,Desk,tool,500,9\nb,Big bow,sport,80,\na,Axe,tool|garden,99,3\n"
    )

    run("build", "items", shop, *COLUMNS, "--keep", "size", "--like", out, "--out", larger)

    after = Catalogue.load(larger)
    assert after.ids == ("a", "b", "c", "d")
    assert after.titles == ("Axe", "Big bow", "Cup", "Desk")
    assert after.attributes["size"] == (3, None, None, 9)
    assert after.attributes["price"] == (99, 80, None, 500)
    assert np.array_equal(after.features[1:3], before.features[1:3])
    assert after.features[0][0] > before.features[0][0]
    assert after.feature_names == before.feature_names


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--list", "tags"), "`table` must have the columns price, which features are made from"),
        ((*COLUMNS[4:], "--distance", "cosine"), "--distance must not be given with --like"),
    ],
)
def test_other_columns_than_those_of_an_earlier_catalogue_are_refused(
    shop: Path, out: Path, tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    run("build", "items", shop, *COLUMNS, "--out", out)
    like = ("--like", out, "--out", tmp_path / "other.npz")
    assert fail("build", "items", shop, "--id", "sku", *words, *like).startswith(problem)


def test_catalogue_without_an_encoder_is_no_example(shop: Path, out: Path, tmp_path: Path) -> None:
    Catalogue(["a"], [[1.0]], "cosine").save(out)
    like = ("--like", out, "--out", tmp_path / "other.npz")
    assert "must have an encoder" in fail("build", "items", shop, *COLUMNS, *like)
