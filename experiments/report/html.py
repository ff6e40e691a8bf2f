"""The report as one HTML page without outside resources, rendered from the Markdown."""

import re
from base64 import b64encode
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from experiments.claims import Status

_STYLE: Final = Path(__file__).with_name("style.css")
_CLASSES: Final = {
    Status.HOLDS.value: "holds",
    Status.IN_PART.value: "part",
    Status.FAILS.value: "fails",
    Status.NOT_MEASURED.value: "open",
}


def render_page(text: str, figures: Path) -> str:
    """Return Markdown as a page; its figures are read from a folder of SVG files.

    The page has links to its sections below the title, and verdicts are coloured.
    """
    # Text from outside, such as paths, is not HTML; only our line breaks in cells are.
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
    tokens = parser.parse(text)
    title, links = tokens[1].content, list[str]()
    for token, inner in pairwise(tokens):
        if token.type == "heading_open" and token.tag in ("h1", "h2") and inner is not tokens[1]:
            anchor = f"{len(links) + 1}-{re.sub(r'[^a-z0-9]+', '-', inner.content.lower())}"
            token.attrSet("id", anchor)
            links.append(f'<li><a href="#{anchor}">{escape(inner.content)}</a></li>')
        if token.type == "td_open" and (status := inner.content.strip("*")) in _CLASSES:
            token.attrSet("class", f"verdict {_CLASSES[status]}")
        _embed_figures(inner, figures)
    body = parser.renderer.render(tokens, parser.options, {}).replace("&lt;br&gt;", "<br>")
    body = body.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )
    body = body.replace("</h1>", f"</h1>\n<nav><ul>{''.join(links)}</ul></nav>", 1)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text()}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _embed_figures(token: Token, folder: Path) -> None:
    for child in token.children or ():
        if child.type == "image":
            path = folder / Path(str(child.attrs["src"])).with_suffix(".svg").name
            child.attrs["src"] = (
                f"data:image/svg+xml;base64,{b64encode(path.read_bytes()).decode()}"
            )
