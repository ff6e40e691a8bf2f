"""The first list of users whose past was imported, beside that of the same users as newcomers.

MovieLens-100K: of each test user, a random half of the likes is imported by the command that a team
would use. Both lists are chosen from the films that are not in that half, and count the films of
the other half.
"""

import csv
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import numpy as np

from tools.findings import Finding, Part
from tools.journeys.findings import more_than
from variegate.data import (
    find_dataset,
    fit_bpr,
    load_movielens_100k,
    rated_catalogue,
    split_users,
)
from variegate.data.dataset import Dataset
from variegate.engine import Experiment, LiveCatalogue, RecommendRequest, Rules
from variegate.engine.executor import Executor
from variegate.model.catalogue import Catalogue
from variegate.prior import fit_prior
from variegate.store import Store

K: Final = 10
#: Test users with fewer likes have too few to halve.
MIN_LIKES: Final = 4


class Halves(NamedTuple):
    """A test user's likes: those that are imported, and those that lists should find."""

    user: str
    imported: list[str]
    held_out: list[str]


def measure(seed: int = 0, *, users: int | None = None) -> Part:
    """Return how much better the first list is, without and with a fitted prior."""
    films = load_movielens_100k(find_dataset("ml-100k"))
    split = split_users(films, rng=seed)
    catalogue = rated_catalogue(split.train, fit_bpr(split.train, seed=seed))
    halves = halves_of(split.test, catalogue, seed)[:users]
    findings: list[Finding] = []
    with TemporaryDirectory(prefix="variegate-history-") as name:
        folder = Path(name)
        catalogue.save(folder / "films.npz")
        fit_prior(catalogue, _likes(split.train, catalogue)).save(folder / "prior.npz")
        fitted = f"lmdp:prior={folder}/prior.npz"
        for title, spec in (
            ("LMDP without a fitted prior", "lmdp"),
            ("LMDP with a prior fitted to the training users", fitted),
            ("LMDP without a fitted prior, `floor=0`", "lmdp:floor=0"),
            ("LMDP with that prior, `floor=0`", f"{fitted},floor=0"),
        ):
            findings += _compared(folder, catalogue, halves, title, spec)
    how = (
        f"MovieLens-100K, {len(halves)} test users; the catalogue has embeddings of the training "
        f"users. A random half of each test user's likes is imported by `variegate "
        f"import-interactions`, then the first list of {K} is made. The same user as a newcomer "
        "chooses from the same films. Found: films of the other half; intervals are paired. Lists "
        "with a fitted prior are more varied, as the mean distance within them shows, and variety "
        "costs films: `floor=0`, without a minimum of diversity, shows what the history is worth "
        "by itself."
    )
    return Part(how, findings)


def _compared(
    folder: Path, catalogue: Catalogue, halves: Sequence[Halves], title: str, spec: str
) -> list[Finding]:
    table, store = folder / "likes.csv", f"sqlite:///{folder}/{len(list(folder.iterdir()))}.db"
    _write(table, halves)
    lines = sum(len(one.imported) for one in halves)
    first, again = (_import(table, store, folder / "films.npz", spec) for _ in range(2))
    with Store.open(store) as opened:
        executor = Executor(
            opened, LiveCatalogue.open(catalogue, opened), Experiment({"p": spec}, {}, 0), Rules()
        )
        known = np.array([_first_list(executor, one, one.user) for one in halves])
        new = np.array([_first_list(executor, one, f"new {one.user}") for one in halves])
    better = more_than(
        f"A user with a history gets a better first list than a newcomer: {title}",
        f"of {K} films",
        known[:, 0],
        new[:, 0],
    )
    apart = f"; mean distance {known[:, 1].mean():.2f} against {new[:, 1].mean():.2f}"
    return [
        replace(better, found=better.found + apart),
        Finding(
            f"Each line is imported exactly once: {title}",
            f"{first}; again: {again}",
            f"{lines} interactions imported, 0 lines" in first
            and f"0 interactions imported, {lines} were known" in again,
        ),
    ]


def _first_list(executor: Executor, one: Halves, user: str) -> tuple[float, float]:
    """Return how many held-out films are in a user's first list, and their mean distance."""
    (answer,) = executor([RecommendRequest(user, k=K, exclude=tuple(one.imported))])
    if isinstance(answer, Exception):
        raise answer
    found = {item["id"] for item in answer["items"]} & set(one.held_out)
    return float(len(found)), float(np.mean([*answer["diversity"].values()]))


def _import(table: Path, store: str, catalogue: Path, spec: str) -> str:
    """Run the command; return its last line."""
    settings = table.with_suffix(".toml")
    settings.write_text(f'[policies]\np = "{spec}"\n', encoding="utf-8")
    command = [sys.executable, "-m", "variegate", "import-interactions", str(table)]
    options = ["--store", store, "--catalogue", str(catalogue), "--config", str(settings)]
    done = subprocess.run(  # noqa: S603 - no text from outside
        [*command, *options, "--reward", "1"], check=True, capture_output=True, text=True
    )
    return done.stdout.strip().splitlines()[-1].removesuffix(".")


def _write(table: Path, halves: Sequence[Halves]) -> None:
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "item"))
        writer.writerows((one.user, item) for one in halves for item in one.imported)


def halves_of(test: Dataset, catalogue: Catalogue, seed: int) -> list[Halves]:
    """Return the likes of each test user, halved at random."""
    rng, known, found = np.random.default_rng(seed), set(catalogue.ids), []
    for user, name in enumerate(test.user_ids):
        items = [test.item_ids[item] for item in test.items[test.users == user]]
        likes = rng.permutation([item for item in items if item in known]).tolist()
        if len(likes) >= MIN_LIKES:
            middle = len(likes) // 2
            found.append(Halves(name, likes[:middle], likes[middle:]))
    return found


def _likes(train: Dataset, catalogue: Catalogue) -> list[list[int]]:
    """Return each training user's likes as rows of the catalogue."""
    rows = catalogue.find_rows(train.item_ids)
    likes: list[list[int]] = [[] for _ in train.user_ids]
    for user, item in zip(train.users.tolist(), rows[train.items].tolist(), strict=True):
        if item >= 0:
            likes[user].append(item)
    return likes
