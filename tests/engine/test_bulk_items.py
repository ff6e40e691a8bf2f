"""Many items at once: in pieces that lists do not see, and exactly what single requests make."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.shop import Shop
from variegate.data.build import content_catalogue
from variegate.engine import bulk_items
from variegate.engine.bulk_items import (
    ImportCounts,
    ItemImport,
    RejectedLine,
    WriteItems,
    prepare_piece,
)
from variegate.engine.hidden_items import show_hidden_items
from variegate.engine.item_lines import CsvColumns, CsvLines, ItemLine, JsonLines
from variegate.engine.items import UpsertItems
from variegate.errors import ConflictError, InputError
from variegate.model.catalogue import Catalogue
from variegate.model.item_table import ItemTable
from variegate.store import ITEMS_REVISION, Store


def tools() -> Catalogue:
    ids = tuple(f"b{number}" for number in range(12))
    return content_catalogue(
        ItemTable(
            ids,
            ids,
            numbers={"price": np.arange(10.0, 130.0, 10.0)},
            categories={"maker": ("us", "them", "they") * 4},
            lists={"tags": (("war",), ("art", "new"), ("sea",)) * 4},
        )
    )


@pytest.fixture
def shop(any_store: Store) -> Shop:
    return Shop(any_store, items=tools())


def item(name: str, **attributes: Any) -> dict[str, Any]:
    given = {"price": 35, "maker": "us", "tags": ["art"], **attributes}
    return {"id": name, "title": name.upper(), "attributes": given}


def lines(*items: dict[str, Any]) -> list[ItemLine]:
    return [ItemLine(number, one) for number, one in enumerate(items, start=1)]


def file_of(path: Path, items: Sequence[dict[str, Any] | str]) -> JsonLines:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in items]
    file = path / "items.jsonl"
    file.write_text("\n".join(texts), encoding="utf-8")
    return JsonLines(str(file))


def run(shop: Shop, source: JsonLines | CsvLines) -> tuple[ImportCounts, list[RejectedLine]]:
    """Import a file; return the counts and what was rejected."""

    async def all_events() -> tuple[ImportCounts, list[RejectedLine]]:
        work = ItemImport(
            source, shop.store, shop.engine.live, shop.experiment, shop.execute, asyncio.Lock()
        )
        found = [one async for one in work.run() if isinstance(one, RejectedLine)]
        return work.counts, found

    return asyncio.run(all_events())


def write(shop: Shop, *items: dict[str, Any]) -> None:
    """Write a piece without showing it."""
    piece = prepare_piece(shop.store, shop.engine.live, lines(*items))
    assert shop.do(WriteItems(piece.rows, piece.revision)) == {"written": True, "waits": False}


def show(shop: Shop) -> None:
    asyncio.run(show_hidden_items(shop.store, shop.engine.live, shop.execute))


def test_import_makes_what_single_requests_make(
    shop: Shop, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_items, "PIECE", 3)
    wanted = [
        *(item(f"n{number}", price=number, tags=["art", f"t{number}"]) for number in range(7)),
        {"id": "b0", "attributes": {"price": 77}},
        {"id": "n1", "attributes": {"maker": "new"}},  # what was just added
        {"id": "b2", "retired": True},
        {"id": "b3", "features": {"price": 0.25}, "distances": {"tags": ["x"]}},
    ]
    found = run(shop, file_of(tmp_path, wanted))
    assert found == (ImportCounts(lines=11, added=7, changed=4), [])
    single = Shop(store, items=tools())
    for one in wanted:
        single.do(UpsertItems([one]))
    names = [*shop.items.ids, *(f"n{number}" for number in range(7))]
    assert [shop.engine.item(n) for n in names] == [single.engine.item(n) for n in names]


def test_same_items_again_change_nothing(shop: Shop, tmp_path: Path) -> None:
    source = file_of(tmp_path, [item("n1"), item("n2"), {"id": "b0", "title": "B"}])
    run(shop, source)
    with shop.store.reading() as reader:
        before = reader.meta(ITEMS_REVISION)

    assert run(shop, source) == (ImportCounts(lines=3, unchanged=3), [])
    with shop.store.reading() as reader:
        assert reader.meta(ITEMS_REVISION) == before


def test_lists_have_new_items_only_when_all_are_written(shop: Shop) -> None:
    write(shop, item("n1"))
    write(shop, item("n2"), {"id": "b0", "retired": True})
    assert set(shop.ids(k=12)) == set(shop.items.ids)

    show(shop)

    assert set(shop.ids("bob", k=13)) == {*shop.items.ids, "n1", "n2"} - {"b0"}
    assert shop.check().wrong == ()


def test_another_change_shows_what_was_written(shop: Shop) -> None:
    write(shop, item("n1"))
    shop.do(UpsertItems([{"id": "n1", "attributes": {"price": 99}}], patch=True))
    assert shop.engine.item("n1")["attributes"]["price"] == 99
    assert shop.engine.item("n1")["attributes"]["maker"] == "us"


def test_another_process_makes_lists_of_the_same_items(any_store: Store) -> None:
    one, two = Shop(any_store, items=tools()), Shop(any_store, items=tools())
    write(one, item("n1"))
    assert "n1" not in two.ids(k=13)
    show(one)
    assert "n1" in two.ids("bob", k=13)


def test_piece_for_items_that_changed_meanwhile_is_not_written(shop: Shop) -> None:
    piece = prepare_piece(
        shop.store, shop.engine.live, lines({"id": "b0", "attributes": {"price": 20}})
    )
    shop.do(UpsertItems([{"id": "b0", "attributes": {"maker": "new"}}]))

    assert shop.do(WriteItems(piece.rows, piece.revision)) == {"written": False, "waits": False}
    assert shop.engine.item("b0")["attributes"]["maker"] == "new"


def test_rejected_lines_name_all_that_is_wrong(shop: Shop, tmp_path: Path) -> None:
    source = file_of(
        tmp_path,
        [
            item("n1"),
            item("n2", price="ten", tags="art", colour="red"),
            "nonsense",
            "",
            {"id": "", "titel": "x"},
            {"id": "n3"},
            {"id": "nope", "retired": True},
        ],
    )

    counts, rejected = run(shop, source)

    assert counts == ImportCounts(lines=6, added=1, rejected=5)
    found = {one.line: one for one in rejected}
    assert found[2] == RejectedLine(
        2,
        "n2",
        "`attributes` must be among ['maker', 'price', 'tags'], got 'colour'; "
        "`attributes.price` must be a number or null, got 'ten'; "
        "`attributes.tags` must be a list of labels or null, got 'art'",
    )
    assert found[3].message == "the line must be JSON"
    assert found[5].message == (
        "`id` must have at least 1 character, got ''; `titel` is not a known field"
    )
    assert found[6].message.startswith("`features` must be given for the new item 'n3'")
    assert found[7].message == "no item 'nope'"


def test_retired_item_stays_retired_unless_the_file_says_otherwise(
    shop: Shop, tmp_path: Path
) -> None:
    shop.retire("b0")
    run(shop, file_of(tmp_path, [item("b0"), {"id": "b1", "retired": True}]))
    assert {"b0", "b1"}.isdisjoint(shop.ids(k=10))
    run(shop, file_of(tmp_path, [{"id": name, "retired": False} for name in ("b0", "b1")]))
    assert {"b0", "b1"} <= set(shop.ids("bob", k=12))


def test_last_item_cannot_be_retired(shop: Shop, tmp_path: Path) -> None:
    with pytest.raises(ConflictError, match="the last item cannot be retired"):
        run(shop, file_of(tmp_path, [{"id": name, "retired": True} for name in shop.items.ids]))
    assert len(shop.ids(k=12)) == 12


def test_policy_that_cannot_serve_more_items_refuses_before_any_is_written(
    store: Store, tmp_path: Path
) -> None:
    shop = Shop(store, {"top": "popular:popularity=[1,2,3,4,5,6,7,8,9,1,2,3]"}, items=tools())
    with pytest.raises(InputError, match="`popularity` must have 13 numbers"):
        run(shop, file_of(tmp_path, [item("n1")]))
    with store.reading() as reader:
        assert reader.items() == []


def table_of(path: Path, text: str | bytes, **columns: Any) -> CsvLines:
    file = path / "items.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    catalogue = tools()
    kept = {"stock": [1] * 12, "link": ["/a"] * 12}
    whole = catalogue.replace(attributes={**catalogue.attributes, **kept})
    return CsvLines(str(file), CsvColumns(**columns), whole)


def test_columns_of_csv_are_read_as_the_catalogue_has_them(tmp_path: Path) -> None:
    text = (
        "sku,name,price,maker,tags,stock,link,retired,cost\n"
        "n1,One, 9.50,7,art| new||art,12,/x,,3\nn2,,,,,,,False,\n"
    )
    source = table_of(tmp_path, text, id="sku", title="name")
    line, other = source
    unknown: dict[str, Any] = {
        "price": None,
        "maker": None,
        "tags": [],
        "stock": None,
        "link": None,
    }
    assert other.request == {"id": "n2", "attributes": unknown, "retired": False}
    assert line.request == {
        "id": "n1",
        "title": "One",
        "attributes": {
            "price": 9.5,
            "maker": "7",
            "tags": ["art", "new"],
            "stock": 12,
            "link": "/x",
        },
    }
    assert source.ignored == ("cost",)


def test_empty_fields_of_csv_are_unknown_and_wrong_ones_are_reported(tmp_path: Path) -> None:
    text = (
        b"id,price,maker,retired\nn1,,,maybe\nn2,ten,us,true\nn3,inf,us\nn4,\xff,us,no\n"
        b'n7,1_000,us,no\nn5,5,"us,no\nn6,5,us,false\n'
    )
    found = {line.number: line for line in table_of(tmp_path, text)}
    assert found[2].problem == "`retired` must be a valid boolean, got 'maybe'"
    assert found[3].problem == "`attributes.price` must be a number, got 'ten'"
    assert found[4].problem == "must have 4 fields, got 3"
    assert found[5].problem.startswith("`attributes.price` must be a number, got ")
    assert found[6].problem == "`attributes.price` must be a number, got '1_000'"
    assert found[7].problem.startswith("not a line of CSV: ")


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("sku,price\n", {}, "no column 'id' of ids among 'sku', 'price'"),
        ("id,price\n", {"title": "name"}, "no column 'name' of titles among 'id', 'price'"),
        ("id,nam\n", {"title": "name"}, "did you mean 'nam'"),
        ("id,id\n", {}, "column 'id' is there 2 times"),
        ("id,price,maker,price\n", {}, "column 'price' is there 2 times"),
        ('id,"pri"ce\n', {}, "the header must be a line of CSV: ',' expected after '\"'"),
        ("", {}, "no column 'id' of ids among none"),
        ("id\n", {"separator": ""}, "`separator` must be one character"),
        ("id\n", {"list_separator": ""}, "`list_separator` must be text"),
    ],
)
def test_table_without_its_columns_is_refused(
    tmp_path: Path, text: str, columns: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        table_of(tmp_path, text, **columns)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    source = file_of(tmp_path, [item("n1")])
    path = next(tmp_path.iterdir())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [line.problem for line in source] == [""]


def test_a_rejected_line_has_its_id_where_that_can_be_read(tmp_path: Path) -> None:
    lines = ['{"id": "n1", "title": 5}', '{"id": 5}', '{"id": "%s"}' % ("x" * 300), "[]", "{"]
    (tmp_path / "items").write_text("\n".join(lines))
    found = [line.id for line in JsonLines(str(tmp_path / "items"))]
    assert found == ["n1", None, "x" * 200, None, None]

    table = table_of(tmp_path, b"id,price\nn1,x\n,5\nn\xff,5\n")
    assert [line.id for line in table] == ["n1", None, "n\\udcff"]


@pytest.mark.parametrize("size", [1_000_001, 2_000_002, 5_500_000])
def test_a_line_that_is_too_long_does_not_stop_the_others(tmp_path: Path, size: int) -> None:
    source = file_of(tmp_path, [item("n1"), "x" * size, item("n2"), "y" * size])
    assert [(line.number, line.id, line.problem) for line in source] == [
        (1, "n1", ""),
        (2, None, "must have at most 1000000 bytes"),
        (3, "n2", ""),
        (4, None, "must have at most 1000000 bytes"),
    ]
