"""Runs `variegate evaluate-log` on the store of a place."""

import json
from typing import Any

from tests.cli.running import fail, run
from tests.cli.serving import Place

SERVED = "lmdh:ridge=1,exploration=0.3"


def evaluated(place: Place, *words: object, store: str = "shop") -> dict[str, Any]:
    result = run(
        "evaluate-log",
        "--store",
        place.url(store),
        "--catalogue",
        place.catalogue,
        "--json",
        *words,
    )
    found: dict[str, Any] = json.loads(result)
    return found


def refusal(place: Place, *words: object) -> str:
    return fail(
        "evaluate-log", "--store", place.url(), "--catalogue", place.catalogue, "--policy", SERVED,
        *words,
    )  # fmt: skip
