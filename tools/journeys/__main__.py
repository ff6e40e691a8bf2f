"""`python -m tools.journeys` measures what is promised, and writes docs/explanation/measured.md."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from tools.findings import Part, this_machine
from tools.journeys import history, imports, rules, speed, users
from tools.journeys.findings import REPORT

MEASURES: Final[dict[str, Callable[[], Part]]] = {
    "speed": speed.measure,
    "users": users.measure,
    "rules": rules.measure,
    "history": history.measure,
    "imports": imports.measure,
}


def main() -> None:
    """Measure the parts that are named, all by default; end with 1 if a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(REPORT.titles)}; all by default")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/explanation/measured.md"), help="page to write"
    )
    parser.add_argument("--page", action="store_true", help="write the page, measure nothing")
    given = parser.parse_args()
    failed = False
    for name in () if given.page else given.parts or REPORT.titles:
        if name not in MEASURES:
            parser.error(f"parts are {', '.join(REPORT.titles)}, got {name!r}")
        part = replace(MEASURES[name](), machine=this_machine())
        REPORT.save({name: part})
        for one in part.findings:
            click.echo(f"{'holds' if one.holds else 'FAILS'}: {one.promise}: {one.found}")
            failed = failed or not one.holds
    given.out.write_text(REPORT.page(REPORT.load()), encoding="utf-8")
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
