"""mkdocs' hooks: pages that are made from the code or come from the root of the repository.

mkdocs loads this file by its path, with the root of the repository as the working directory.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.site.pages import GENERATED

#: Documents of the root that are pages of the site too.
FROM_ROOT = ("CHANGELOG.md", "CONTRIBUTING.md")
_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")
_OWN_CONTENTS = re.compile(r"(?:^- \[[^\]\n]+\]\(#[^)\n]+\)\n)+\n", re.MULTILINE)
#: What a page loads when it is opened; links that a reader may follow are not meant.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=["']?(https?://[^"' >]+)"""
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every decision into the navigation, in the order of their numbers."""
    folder = Path(config.docs_dir)
    decisions = sorted((folder / "explanation" / "decisions").glob("*.md"), reverse=True)
    pages = [path.relative_to(folder).as_posix() for path in decisions]
    for section in config.nav or []:
        for part in section.get("Explanation", []):
            if "Decisions" in part:
                # The index, whose name is behind all numbers, is first.
                part["Decisions"] = [pages[0], *reversed(pages[1:])]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in the folder of documents."""
    for path, make in GENERATED.items():
        files.append(File.generated(config, path, content=make()))
    for name in FROM_ROOT:
        text = Path(name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Point links to the root's documents at their pages; leave contents to the theme."""
    folder = os.path.dirname(page.file.src_uri)

    def link(found: re.Match[str]) -> str:
        target = normpath(os.path.join(folder, found[1]))
        anchor = found[2] or ""
        if target.removeprefix("../") in FROM_ROOT:
            return f"]({relpath(target.removeprefix('../'), folder or '.')}{anchor})"
        if page.file.src_uri in FROM_ROOT and target == "README.md":
            return "](index.md)"
        return found[0]

    return _LINK.sub(link, _OWN_CONTENTS.sub("", markdown, count=1))


def on_post_build(config: MkDocsConfig) -> None:
    """Fail if a page loads anything from another host: the site works offline."""
    if found := sorted(set(_from_other_hosts(Path(config.site_dir)))):
        raise PluginError("the site is not self-contained: " + "; ".join(found[:5]))


def _from_other_hosts(site: Path) -> Iterator[str]:
    for path in site.rglob("*.html"):
        for address in _LOADED.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads {address}"
