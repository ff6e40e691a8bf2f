"""Results of several policies over the rounds, and files of them for papers and notebooks."""

import base64
import csv
import html
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from variegate.arrays import FloatArray
from variegate.errors import InputError
from variegate.evaluation.plots import Curve, colour_of, draw_curves, drawing_style, new_figure
from variegate.files import atomic_write

_ESCAPED: Final = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
    | {"±": r"$\pm$", "α": r"$\alpha$", "ε": r"$\varepsilon$"}
)
_CSS: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{padding:.2rem .8rem;text-align:right}"
    "th:first-child,td:first-child{text-align:left}thead{border-bottom:1px solid}img{width:100%}"
)


@dataclass(frozen=True, eq=False)
class Series:
    """A measure of one policy, or of a difference of two, in each round."""

    name: str
    measure: str
    #: (rounds,), as the others
    mean: FloatArray
    #: What stands behind ± in tables
    error: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class ResultTable:
    """Series of several policies by the same measures and rounds.

    Parameters
    ----------
    title
        What was measured.
    note
        What ± and the intervals are.
    error
        The name of what stands behind ±, such as ``standard error``.
    is_difference
        Whether means are differences: those whose interval excludes 0 have a star in tables.
    """

    title: str
    note: str
    error: str
    series: Sequence[Series]
    is_difference: bool = False

    def records(self) -> list[dict[str, Any]]:
        """Return one record per policy, measure and round, as for `pandas.DataFrame`."""
        error = self.error.replace(" ", "_")
        return [
            {
                "policy": one.name,
                "measure": one.measure,
                "round": place + 1,
                "mean": float(one.mean[place]),
                error: float(one.error[place]),
                "low": float(one.low[place]),
                "high": float(one.high[place]),
            }
            for one in self.series
            for place in range(len(one.mean))
        ]

    def last_round(self) -> tuple[list[str], dict[str, list[str]]]:
        """Return the measures, and for each policy their cells after the last round."""
        measures = list(dict.fromkeys(one.measure for one in self.series))
        rows: dict[str, list[str]] = {}
        for one in self.series:
            is_clear = self.is_difference and (one.low[-1] > 0 or one.high[-1] < 0)
            cell = f"{'*' if is_clear else ''}{one.mean[-1]:.3f} ± {one.error[-1]:.3f}"
            rows.setdefault(one.name, []).append(cell)
        return measures, rows

    @property
    def caption(self) -> str:
        """The title, the round and the note."""
        return f"{self.title}, after {len(self.series[0].mean)} rounds. {self.note}"


def write_results(table: ResultTable, path: str | Path) -> None:
    """Write results to a file, as what its name ends in.

    ``.csv`` and ``.json`` have every round, ``.tex`` a table of the last one (for the package
    booktabs), ``.png``, ``.svg`` and ``.pdf`` a plot, and ``.html`` a page of its own with both.
    """
    content = FORMATS[check_format(path)](table, Path(path).suffix.lower()[1:])
    with atomic_write(path) as file:
        file.write(content)


def check_format(path: str | Path) -> str:
    """Return the ending of a path that results can be written to, or raise InputError.

    Its folder, and matplotlib for plots, are looked for here: before hours of work, not after.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise InputError(f"`out` must end in {', '.join(FORMATS)}, got {str(path)!r}")
    if not (folder := Path(path).parent).is_dir():
        raise InputError(
            f"`out` must be in a folder that exists, got {str(folder)!r}: make it first"
        )
    if ending not in (".csv", ".json", ".tex"):
        with drawing_style():
            pass
    return ending


def _csv(table: ResultTable, _format: str) -> bytes:
    text, records = io.StringIO(newline=""), table.records()
    rows = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    rows.writeheader()
    rows.writerows(records)
    return text.getvalue().encode()


def _json(table: ResultTable, _format: str) -> bytes:
    value = {"title": table.title, "note": table.note, "records": table.records()}
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"


def _tex(table: ResultTable, _format: str) -> bytes:
    measures, rows = table.last_round()
    body = [" & ".join(map(_latex, (name, *cells))) + r" \\" for name, cells in rows.items()]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_latex(table.caption)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(measures)}}}",
        r"\toprule",
        " & ".join(["", *map(_latex, measures)]) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _picture(table: ResultTable, kind: str) -> bytes:
    """Return a plot: a panel for each measure, bands of 95% intervals."""
    measures, names = (
        list(dict.fromkeys(getattr(one, field) for one in table.series))
        for field in ("measure", "name")
    )
    # Own policies and settings have no colour of their own.
    colours = {name: colour_of(name) for name in names}
    if len(set(colours.values())) < len(names):
        colours = {name: f"C{number % 10}" for number, name in enumerate(names)}
    with drawing_style():
        figure = new_figure(max(3.2 * len(measures), 5.0), 3.6 + 0.18 * len(names))
        panels = figure.subplots(1, len(measures), squeeze=False)[0]
        for axes, measure in zip(panels, measures, strict=True):
            curves = [
                Curve(one.name, colours[one.name], one.mean, one.error, ends=(one.low, one.high))
                for one in table.series
                if one.measure == measure
            ]
            draw_curves(axes, curves)
            if table.is_difference:
                axes.axhline(0.0, color="0.5", linewidth=0.8, zorder=0)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set(xlabel="lists shown", title=measure)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        figure.suptitle(f"{table.title}; bands: 95% intervals", fontsize=9.5)
        content = io.BytesIO()
        figure.savefig(content, format=kind)
    return content.getvalue()


def _html(table: ResultTable, _format: str) -> bytes:
    measures, rows = table.last_round()
    plot = base64.b64encode(_picture(table, "png")).decode()
    head = "".join(f"<th>{html.escape(measure)}</th>" for measure in measures)
    body = "".join(
        f"<tr><td>{html.escape(name)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for name, cells in rows.items()
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(table.title)}'
        f"</title><style>{_CSS}</style><h1>{html.escape(table.title)}</h1>"
        f"<p>{html.escape(table.caption)}</p>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"
        f'<p><img alt="The measures over the rounds" src="data:image/png;base64,{plot}"></p></html>'
    )
    return page.encode()


def _latex(text: str) -> str:
    return text.translate(_ESCAPED)


#: What makes a file of results, by how its name ends.
FORMATS: Final[Mapping[str, Callable[[ResultTable, str], bytes]]] = MappingProxyType(
    {
        ".csv": _csv,
        ".json": _json,
        ".tex": _tex,
        ".html": _html,
        ".png": _picture,
        ".svg": _picture,
        ".pdf": _picture,
    }
)
