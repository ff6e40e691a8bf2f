"""Findings: what was promised, what was found, whether it holds; kept as JSON, shown as a page."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from variegate.arrays import FloatArray
from variegate.policies.ridge_policy import NORMAL_95

RESULTS: Final = Path(__file__).with_name("results.json")
#: The parts in the order of the page, with their headings.
PARTS: Final = {
    "speed": "A ranker's candidates: speed and size",
    "users": "A ranker's candidates: what is learnt",
    "rules": "Rules: what a condition costs",
    "history": "History: the first list after an import",
    "imports": "Items: what lists wait during an import",
}
_HEAD: Final = """# Rankers, rules and history, measured

Made by `python -m tools.journeys`; with the name of a part ({parts}) only that part
is measured again. Every promise is judged by code from the numbers. Times are of one run on
{machine}, in which the calls take turns; each is the best of its turns, and what counts is the
ratio.
"""


@dataclass(frozen=True)
class Finding:
    """A promise and what was found."""

    promise: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Part:
    """The findings of one part, with how they were made."""

    how: str
    findings: Sequence[Finding]
    machine: str = ""


def more_than(promise: str, unit: str, ours: FloatArray, theirs: FloatArray) -> Finding:
    """Return whether the paired 95% interval of a difference, over users, lies above 0."""
    gains = ours - theirs
    mean, half = float(gains.mean()), NORMAL_95 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    found = (
        f"{ours.mean():.2f} {unit} against {theirs.mean():.2f}: {mean:+.2f} "
        f"({mean - half:+.2f} to {mean + half:+.2f})"
    )
    return Finding(promise, found, mean - half > 0.0)


def save(path: Path, parts: Mapping[str, Part]) -> None:
    """Write parts beside those that the file has of other names."""
    kept = {**load(path), **parts}
    plain = {name: asdict(kept[name]) for name in PARTS if name in kept}
    path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, Part]:
    """Return the parts of a file; none if there is no file."""
    if not path.exists():
        return {}
    plain = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: Part(part["how"], [Finding(**one) for one in part["findings"]], part["machine"])
        for name, part in plain.items()
    }


def page(parts: Mapping[str, Part]) -> str:
    """Return the parts as Markdown."""
    machines = dict.fromkeys(part.machine for part in parts.values() if part.machine)
    names = ", ".join(f"`{name}`" for name in PARTS)
    text = _HEAD.format(parts=names, machine="; ".join(machines) or "an unknown machine")
    return text + "".join(_section(PARTS[name], parts[name]) for name in PARTS if name in parts)


def _section(title: str, part: Part) -> str:
    return f"\n## {title}\n\n{part.how}\n\n" + _table(part.findings)


def _table(findings: Iterable[Finding]) -> str:
    lines = ["| promise | found | |", "|---|---|---|"]
    for one in findings:
        verdict = "holds" if one.holds else "**does not hold**"
        lines.append(f"| {one.promise} | {one.found} | {verdict} |")
    return "\n".join(lines) + "\n"
