"""How long loading, filtering and splitting take, and how much memory at the most.

`python -m benchmarks.bench_loading` makes a seeded file of the size of the whole Anime set
(7.8 million ratings) in a folder that goes away after, and measures each data set in a
process of its own. MovieLens-1M is measured too where `variegate.data.download.find` finds it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from variegate.data.download import DATASETS, find_dataset
from variegate.data.splits import split_users
from variegate.errors import DataError

ANIME_ROWS = 7_813_737
USERS, ITEMS = 73_515, 11_200
#: -1 and 1 to 10, about as often as on Kaggle
SHARES = (0.19, 0.002, 0.003, 0.005, 0.013, 0.036, 0.08, 0.176, 0.21, 0.165, 0.12)


def make_ratings(folder: Path, rows: int, *, seed: int = 0) -> None:
    """Write `anime.csv` and `rating.csv` with `rows` ratings, sorted by user."""
    import polars as pl

    rng = np.random.default_rng(seed)
    shares = np.array(SHARES) / sum(SHARES)
    ratings = pl.DataFrame(
        {
            "user_id": np.sort(rng.integers(1, USERS + 1, size=rows)),
            # Squared, so that some items are seen far more often than others.
            "anime_id": (ITEMS * rng.random(rows) ** 2).astype(np.int64) + 1,
            "rating": rng.choice([-1, *range(1, 11)], size=rows, p=shares),
        }
    )
    ratings.write_csv(folder / "rating.csv", line_terminator="\r\n")
    lines = [
        f'{item},Item {item},"Genre {item % 43}, Genre {item % 7}",TV,12,7.5,100'
        for item in range(1, ITEMS + 1)
    ]
    header = "anime_id,name,genre,type,episodes,rating,members"
    (folder / "anime.csv").write_text("\r\n".join([header, *lines, ""]), newline="")


def measured(name: str, path: str) -> dict[str, float]:
    """Load and split a data set, and return seconds and this process's peak memory."""
    import resource

    start = time.perf_counter()
    dataset = DATASETS[name].load(path)
    loaded = time.perf_counter()
    split_users(dataset, rng=0)
    split = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "likes": len(dataset),
        "load": loaded - start,
        "split": split - loaded,
        "gigabytes": peak * unit / 1e9,
    }


def measured_apart(name: str, path: Path) -> dict[str, float]:
    """Return what `measured` does, from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bench_loading", "--measure", name, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    result: dict[str, float] = json.loads(done.stdout)
    return result


def report(rows: int) -> str:
    """Return a small table of the measurements."""
    lines = [f"{'data':<24}{'likes':>12}{'load s':>10}{'split s':>10}{'peak GB':>10}"]
    with tempfile.TemporaryDirectory() as folder:
        make_ratings(Path(folder), rows)
        lines.append(_line(f"made, {rows:,} rows", measured_apart("anime", Path(folder))))
    try:
        lines.append(_line("ml-1m", measured_apart("ml-1m", find_dataset("ml-1m"))))
    except DataError as error:
        lines.append(f"ml-1m: {error}")
    return "\n".join(lines)


def _line(name: str, result: dict[str, float]) -> str:
    return (
        f"{name:<24}{result['likes']:>12,}{result['load']:>10.2f}"
        f"{result['split']:>10.2f}{result['gigabytes']:>10.2f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or for `--measure` one measurement as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ANIME_ROWS)
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "PATH"))
    options = parser.parse_args(arguments)
    print(json.dumps(measured(*options.measure)) if options.measure else report(options.rows))


if __name__ == "__main__":
    main()
