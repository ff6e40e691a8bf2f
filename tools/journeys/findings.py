"""The page of these measurements, and what several of them need."""

from pathlib import Path
from typing import Final

from tools.findings import Finding, Report
from variegate.arrays import FloatArray
from variegate.policies.ridge_policy import NORMAL_95

_HEAD: Final = """# Rankers, rules and history, measured

Made by `python -m tools.journeys`; with the name of a part ({parts}) only that part
is measured again. Every promise is judged by code from the numbers. Times are of one run on
{machine}, in which the calls take turns; each is the best of its turns, and what counts is the
ratio.
"""
REPORT: Final = Report(
    Path(__file__).with_name("results.json"),
    {
        "speed": "A ranker's candidates: speed and size",
        "users": "A ranker's candidates: what is learnt",
        "rules": "Rules: what a condition costs",
        "history": "History: the first list after an import",
        "imports": "Items: what lists wait during an import",
    },
    _HEAD,
)


def more_than(promise: str, unit: str, ours: FloatArray, theirs: FloatArray) -> Finding:
    """Return whether the paired 95% interval of a difference, over users, lies above 0."""
    gains = ours - theirs
    mean, half = float(gains.mean()), NORMAL_95 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    found = (
        f"{ours.mean():.2f} {unit} against {theirs.mean():.2f}: {mean:+.2f} "
        f"({mean - half:+.2f} to {mean + half:+.2f})"
    )
    return Finding(promise, found, mean - half > 0.0)
