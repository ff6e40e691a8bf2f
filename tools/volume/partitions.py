"""Compare the statements of the store on one table with the same on 16 hash partitions."""

import random
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Final, LiteralString

import click
import psycopg

PARTITIONS: Final = 16
USERS: Final = 100_000
ROUNDS, CALLS = 9, 400

_TABLE: LiteralString = '(id TEXT COLLATE "C" PRIMARY KEY, user_id TEXT COLLATE "C", body TEXT)'
#: By name: a statement, and its parameter from random ids and a random user
STATEMENTS: Final[dict[str, tuple[LiteralString, Callable[[list[str], str], object]]]] = {
    "one slate by id": ("SELECT * FROM {} WHERE id = ANY (%b::TEXT[])", lambda ids, _: ids[:1]),
    "eight slates by id": ("SELECT * FROM {} WHERE id = ANY (%b::TEXT[])", lambda ids, _: ids),
    "a user's last five slates": (
        "SELECT * FROM {} WHERE user_id = %b ORDER BY id DESC LIMIT 5",
        lambda _, user: user,
    ),
}


def compare(url: str, rows: int) -> None:
    """Fill both tables with the same rows, and print times and ratios."""
    options = "-c plan_cache_mode=force_generic_plan -c max_parallel_workers_per_gather=0"
    with psycopg.connect(url, autocommit=True, options=options) as connection:
        _fill(connection, rows)
        for name, (statement, parameter) in STATEMENTS.items():
            times: dict[str, list[float]] = {"plain": [], "hashed": []}
            for number in range(ROUNDS):
                for table, found in times.items():
                    rng = random.Random(number)  # noqa: S311 - nobody's secret
                    calls = [parameter(*_random(rng, rows)) for _ in range(CALLS)]
                    text = statement.replace("{}", table)
                    start = perf_counter()
                    for given in calls:
                        connection.execute(text, (given,), prepare=True, binary=True).fetchall()
                    found.append(1e6 * (perf_counter() - start) / CALLS)
            one, many = (min(found) for found in times.values())
            ratios = [b / a for a, b in zip(*times.values(), strict=True)]
            click.echo(
                f"{name}: {one:.0f} us in one table, {many:.0f} us in {PARTITIONS} partitions, "
                f"{median(ratios):.1f} times"
            )


def _random(rng: random.Random, rows: int) -> tuple[list[str], str]:
    ids = [f"s{rng.randrange(rows):012d}" for _ in range(8)]
    return ids, f"u{rng.randrange(USERS)}"


def _fill(connection: psycopg.Connection[object], rows: int) -> None:
    run = connection.execute
    run(f"CREATE TABLE plain {_TABLE}")
    run(f"CREATE TABLE hashed {_TABLE} PARTITION BY HASH (id)")
    for number in range(PARTITIONS):
        run(
            f"CREATE TABLE hashed_{number} PARTITION OF hashed "
            f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number})"
        )
    for table in ("plain", "hashed"):
        run(
            f"INSERT INTO {table} SELECT 's' || lpad(n::TEXT, 12, '0'), 'u' || n % {USERS}, "  # noqa: S608
            f"repeat('x', 400) FROM generate_series(0, {rows - 1}) AS n"
        )
        run(f"CREATE INDEX ON {table} (user_id, id)")
        run(f"VACUUM ANALYZE {table}")
