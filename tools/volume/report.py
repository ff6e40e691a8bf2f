"""The page of these measurements, docs/explanation/volume.md."""

from pathlib import Path
from typing import Final

from tools.findings import Report

ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "explanation" / "volume.md"

_HEAD: Final = """# Large stores, batches and Ray, measured

Made by `python -m tools.volume` with the name of a part ({parts}), which measures that
part again. Every promise is judged by code from the numbers. Times are of one run on
{machine}, in which the calls that are compared take turns.
"""
REPORT: Final = Report(
    Path(__file__).with_name("results.json"),
    {
        "slates": "A store with a long history",
        "lists": "Lists for a million users",
        "ray": "A replay on Ray",
    },
    _HEAD,
)
