"""`variegate items`: the items of a file, in a running service."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import fail, run
from tests.client.serving import service

TABLE = (
    "sku,name,price,tags\n"
    "p1,Axe,30,tool|wood\np2,Bow,80,sport|wood\np3,Cup,9,kitchen\np4,Dish,12,kitchen|gift\n"
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("items")
    (folder / "shop.csv").write_text(TABLE)
    columns = ["--id", "sku", "--title", "name", "--number", "price", "--list", "tags"]
    run("build", "items", folder / "shop.csv", *columns, "--out", folder / "shop.npz")
    with service(folder, catalogue=str(folder / "shop.npz")) as address:
        yield address


def test_table_is_imported_and_what_is_wrong_is_reported(shop: str, tmp_path: Path) -> None:
    table = tmp_path / "more.tsv"
    table.write_text("sku\tprice\ttags\tcost\np5\t7\tgift\t1\np1\t31\ttool|wood\t1\np6\tx\t\t1\n")
    wrong = tmp_path / "wrong.csv"
    words = ("items", "import", table, "--url", shop, "--id", "sku", "--rejected", wrong)

    assert run(*words).splitlines() == [
        "line 4 rejected: `attributes.price` must be a number, got 'x'",
        "Columns that are no attribute: cost.",
        "1 item added, 1 changed, 0 unchanged, 1 rejected.",
    ]
    assert wrong.read_text().splitlines()[1:] == [
        "4,p6,\"`attributes.price` must be a number, got 'x'\""
    ]
    assert run(*words).splitlines()[-1] == "0 items added, 0 changed, 2 unchanged, 1 rejected."


def test_lines_of_json_are_imported(shop: str, tmp_path: Path) -> None:
    lines = tmp_path / "more.jsonl"
    lines.write_text('{"id":"j1","attributes":{"price":4}}\nnonsense\n')
    assert run("items", "import", lines, "--url", shop).splitlines() == [
        "line 2 rejected: the line must be JSON",
        "1 item added, 0 changed, 0 unchanged, 1 rejected.",
    ]


def test_items_are_retired_and_restored(shop: str, tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("p2\n\np3\n")
    result = "0 items added, {} changed, {} unchanged, 0 rejected.\n"
    assert run("items", "retire", "p1", "--file", ids, "--url", shop) == result.format(3, 0)
    assert run("items", "retire", "p1", "--url", shop) == result.format(0, 1)
    assert run("items", "restore", "p1", "p2", "p3", "--url", shop) == result.format(3, 0)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("retire",), "ids must be given, or a file of them with --file"),
        (("import", "shop.xlsx"), "FILE must end in .csv, .tsv or .jsonl unless --separator"),
        (("import", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_read_is_an_error(words: tuple[str, ...], problem: str) -> None:
    assert problem in fail("items", *words)


def test_nothing_but_rejected_lines_is_an_error(shop: str) -> None:
    from click.testing import CliRunner

    from variegate.cli import commands

    result = CliRunner().invoke(commands, ["items", "retire", "nope", "--url", shop])
    assert (result.exit_code, result.stdout) == (1, "line 1 rejected: no item 'nope'\n")
    assert result.stderr == "Error: 0 items added, 0 changed, 0 unchanged, 1 rejected\n"
