"""Arrays as PostgreSQL receives them."""

from typing import Any

import pytest

from variegate.store.binary import BinaryArray, array_of_keys
from variegate.store.postgres import PostgresDatabase


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TEXT", ["", "a", "\u00e9\u4e2d\U0001f3ac", "x" * 70_000]),
        ("TEXT", ["a", None, "NULL"]),
        ("TEXT", []),
        ("TEXT", [None]),
        ("BYTEA", [b"", b"\x00\xff", None, b"y" * 9000]),
        ("BIGINT", [0, -1, 2**63 - 1, -(2**63), None]),
        ("BOOLEAN", [True, None, False]),
        ("DOUBLE PRECISION", [0.1, -0.0, 1e308, 5e-324, None]),
        ("DOUBLE PRECISION", []),
    ],
)
def test_the_server_reads_what_was_packed(postgres_url: str, kind: str, values: list[Any]) -> None:
    database = PostgresDatabase(postgres_url, durable=True, timeout=30.0, max_connections=2)
    try:
        with database.reading() as transaction:
            ((found,),) = transaction.rows(f"SELECT %b::{kind}[]", BinaryArray(kind, values))
        assert list(map(repr, found)) == list(map(repr, values))
    finally:
        database.close()


def test_numbers_without_a_point_are_floats_where_the_column_has_them() -> None:
    assert BinaryArray("DOUBLE PRECISION", [1]).data == BinaryArray("DOUBLE PRECISION", [1.0]).data


def test_keys_are_text_or_numbers() -> None:
    assert array_of_keys(["1"]).data == BinaryArray("TEXT", ["1"]).data
    assert array_of_keys([1]).data == BinaryArray("BIGINT", [1]).data
