"""`python -m benchmarks`: measure everything against the peers in one run, and write the page.

A whole run writes docs/explanation/benchmarks.md, its plots and benchmarks/results.json. With
--quick or --only the same files go to out/benchmarks, unless --out says where.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Final

from benchmarks.machine import all_cores, use_cores

ROOT: Final = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run the parts that were asked for."""
    arguments = _arguments()
    # Before NumPy: every claim is per core, so both sides of each ratio get one.
    use_cores(all_cores()[-1:])
    from benchmarks.run import Place, redraw, run
    from variegate.errors import VariegateError

    whole = not (arguments.quick or arguments.only or arguments.out)
    place = Place.of_project(ROOT) if whole else Place.of_folder(_out(arguments))
    try:
        if arguments.redraw:
            redraw(place)
        else:
            run(place, quick=arguments.quick, only=arguments.only, environments=arguments.envs)
    except VariegateError as error:
        raise SystemExit(f"error: {error}") from None


def _arguments() -> Namespace:
    parser = ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: it runs, no more")
    parser.add_argument(
        "--only", action="append", metavar="PART", help="run this part; can be given again"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write everything there")
    parser.add_argument(
        "--envs", type=Path, metavar="DIR", help="where the peers' environments are kept"
    )
    parser.add_argument(
        "--redraw", action="store_true", help="measure nothing, write the page from the results"
    )
    return parser.parse_args()


def _out(arguments: Namespace) -> Path:
    return arguments.out or ROOT / "out" / "benchmarks"


if __name__ == "__main__":
    main()
