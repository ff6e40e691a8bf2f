"""How long it takes to start: the import, the command, the first list, in fresh processes."""

import json
import sys
import tempfile
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.environments import PATIENCE, succeeded
from benchmarks.markdown import duration, table
from benchmarks.results import Part

#: Prints the seconds of the import, the first list and the second.
FIRST_LIST: Final = """
import json
from time import perf_counter
start = perf_counter()
from variegate import LMDH, Catalogue
imported = perf_counter()
import numpy as np
items = Catalogue(range(3533), np.random.default_rng(0).uniform(-1, 1, (3533, 10)), "cosine")
policy = LMDH(items)
ready = perf_counter()
policy.recommend(10)
first = perf_counter()
policy.recommend(10)
second = perf_counter()
print(json.dumps([imported - start, first - ready, second - first]))
"""

STARTS: Final = {
    "seconds of bare Python": ["-c", "pass"],
    "seconds of `import numpy`": ["-c", "import numpy"],
    "seconds of `import variegate`": ["-c", "import variegate"],
    "seconds of `from variegate import LMDH, Catalogue`": [
        "-c",
        "from variegate import LMDH, Catalogue",
    ],
    "seconds of `variegate --help`": ["-m", "variegate", "--help"],
}


def measure(quick: bool) -> Part:
    """Return whole processes' seconds, and those of a first list with and without the cache."""
    part, repeats = Part(), 2 if quick else 7
    started: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(repeats + 1):
        for name, arguments in STARTS.items():
            started[name].append(_process_seconds(arguments))
    for name, seconds in started.items():
        part.facts[name] = median(seconds[1:])  # the first one read the files from the disk
    with tempfile.TemporaryDirectory() as cache:
        _imported, compiled, second = _first_list(cache)
        kept = [_first_list(cache)[1] for _ in range(repeats)]
    part.facts["seconds of the first list ever, which compiles"] = compiled
    part.facts["seconds of a process's first list, compiled before"] = median(kept)
    part.facts["seconds of the list after that"] = second
    return part


def _process_seconds(arguments: list[str]) -> float:
    start = perf_counter()
    succeeded([sys.executable, *arguments], PATIENCE)
    return perf_counter() - start


def _first_list(cache: str) -> tuple[float, float, float]:
    command = [sys.executable, "-c", FIRST_LIST]
    printed = succeeded(command, PATIENCE, environment={"NUMBA_CACHE_DIR": cache})
    imported, first, second = json.loads(printed)
    return imported, first, second


def section(part: Part) -> list[str]:
    """Write the starts."""
    rows = [
        [name.removeprefix("seconds of "), duration(value)] for name, value in part.facts.items()
    ]
    return [
        "Fresh processes, whole, medians. Loops are compiled at the first list and kept beside",
        "the package, or in numba's cache folder where that cannot be written to.",
        "",
        *table(["", "takes"], rows),
    ]
