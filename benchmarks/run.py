"""Runs the parts one after another and keeps what they found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.bars import judged
from benchmarks.machine import described, versions
from benchmarks.page import page
from benchmarks.parts import PARTS
from benchmarks.plots import draw_plots
from benchmarks.results import Part, Results
from variegate.arrays import check_choice
from variegate.errors import VariegateError
from variegate.files import atomic_write


@dataclass(frozen=True)
class Place:
    """Where a run writes."""

    page: Path
    pictures: Path
    results: Path

    @classmethod
    def of_project(cls, root: Path) -> "Place":
        """Return the places in the project's own documents."""
        return cls(
            root / "docs" / "explanation" / "benchmarks.md",
            root / "docs" / "explanation" / "pictures" / "benchmarks",
            root / "benchmarks" / "results.json",
        )

    @classmethod
    def of_folder(cls, folder: Path) -> "Place":
        """Return the places in a folder of the run's own."""
        return cls(
            folder / "benchmarks.md", folder / "pictures" / "benchmarks", folder / "results.json"
        )


def run(
    place: Place, *, quick: bool, only: Sequence[str] | None, environments: Path | None
) -> None:
    """Measure, and write after each part, so that what is measured is not lost."""
    names = [check_choice("--only", name, PARTS) for name in only] if only else list(PARTS)
    results = Results(quick, described(), versions())
    place.results.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        print(f"{name} ...", end=" ", flush=True)
        start = perf_counter()
        part = _measured(name, quick, environments)
        results.parts[name], results.seconds[name] = part, perf_counter() - start
        results.versions.update(part.versions)
        print(f"{results.seconds[name]:.0f} s", flush=True)
        for reason in part.skipped:
            print(f"  SKIPPED {reason}", flush=True)
        results.save(place.results, judged(results))
    _write(place, results)
    for row in judged(results):
        if row["verdict"] != "not measured":
            print(f"{row['verdict']:>8}  {row['what']}: {row['value']:.3g}{row['unit']}")
    print(f"written: {place.page}")


def _measured(name: str, quick: bool, environments: Path | None) -> Part:
    # One part that cannot be measured here must not cost the others.
    try:
        return PARTS[name].measure(quick, environments)
    except VariegateError as error:
        return Part(skipped=[f"{name}: {error}"])


def redraw(place: Place) -> None:
    """Write the page and the plots again, from results that are there."""
    _write(place, Results.load(place.results))


def _write(place: Place, results: Results) -> None:
    place.page.parent.mkdir(parents=True, exist_ok=True)
    place.pictures.mkdir(parents=True, exist_ok=True)
    drawn = draw_plots(results, place.pictures)
    with atomic_write(place.page) as file:
        file.write(page(results, drawn, judged(results)).encode())
