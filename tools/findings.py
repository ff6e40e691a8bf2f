"""Findings: what was promised, what was found, whether it holds; kept as JSON, shown as a page."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.machine import described


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


@dataclass(frozen=True)
class Report:
    """The parts of a page.

    Parameters
    ----------
    results
        The file that keeps the findings of all parts.
    titles
        The headings by part, in the order of the page.
    head
        The Markdown before the parts, with ``{parts}`` and ``{machine}``.
    """

    results: Path
    titles: Mapping[str, str]
    head: str

    def save(self, parts: Mapping[str, Part]) -> None:
        """Write parts beside those that the file has of other names."""
        kept = {**self.load(), **parts}
        plain = {name: asdict(kept[name]) for name in self.titles if name in kept}
        text = json.dumps(plain, indent=1, ensure_ascii=False)
        self.results.write_text(text + "\n", encoding="utf-8")

    def load(self) -> dict[str, Part]:
        """Return the parts of the file; none if there is no file."""
        if not self.results.exists():
            return {}
        plain = json.loads(self.results.read_text(encoding="utf-8"))
        return {
            name: Part(part["how"], [Finding(**one) for one in part["findings"]], part["machine"])
            for name, part in plain.items()
        }

    def page(self, parts: Mapping[str, Part]) -> str:
        """Return the parts as Markdown."""
        machines = dict.fromkeys(part.machine for part in parts.values() if part.machine)
        names = ", ".join(f"`{name}`" for name in self.titles)
        text = self.head.format(parts=names, machine="; ".join(machines) or "an unknown machine")
        sections = (
            _section(self.titles[name], parts[name]) for name in self.titles if name in parts
        )
        return text + "".join(sections)


def this_machine() -> str:
    """Return the processor and its cores, for `Part.machine`."""
    machine = described()
    return f"{machine['processor']} ({machine['cores']} cores)"


def _section(title: str, part: Part) -> str:
    return f"\n## {title}\n\n{part.how}\n\n" + _table(part.findings)


def _table(findings: Iterable[Finding]) -> str:
    lines = ["| promise | found | |", "|---|---|---|"]
    for one in findings:
        verdict = "holds" if one.holds else "**does not hold**"
        lines.append(f"| {one.promise} | {one.found} | {verdict} |")
    return "\n".join(lines) + "\n"
