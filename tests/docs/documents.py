"""The documents, and what the tests take out of them."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT

#: The folder of the site's pages, and those that record past choices.
DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "explanation" / "decisions").glob("*.md"))
#: What a reader of the library is meant to read.
GUIDES = [
    ROOT / "README.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if path not in DECISIONS),
]
#: Every document that links to others.
DOCUMENTS = [
    *GUIDES,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    ROOT / "CODE_OF_CONDUCT.md",
    *DECISIONS,
]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the lines of the document above it."""

    language: str
    text: str
    lines_above: int


def name_of(path: Path) -> str:
    """Return the path as the project's people write it."""
    return path.relative_to(ROOT).as_posix()


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document, in order."""
    text = path.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)))
        for found in FENCE.finditer(text)
    ]


def prose(path: Path) -> str:
    """Return a document without its fenced blocks."""
    return FENCE.sub("", path.read_text(encoding="utf-8"))


def spans(path: Path) -> list[str]:
    """Return what stands between backticks in the prose of a document."""
    return SPAN.findall(prose(path))


def code(path: Path) -> str:
    """Return all that a document shows as code: its spans and its blocks."""
    return "\n".join([*spans(path), *(block.text for block in blocks(path))])


def links(path: Path) -> list[str]:
    """Return the targets of a document's links to the project's own files."""
    found = LINK.findall(SPAN.sub("", prose(path)))
    return [target for target in found if "://" not in target and not target.startswith("mailto:")]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as they are made on the web."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {text.replace(" ", "-") for text in words}


def rows(path: Path, heading: str) -> list[list[str]]:
    """Return the cells of the table rows under a heading, without the table's head."""
    section = prose(path).split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]
