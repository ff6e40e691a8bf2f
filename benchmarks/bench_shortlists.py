"""The two-stage mode for large catalogues, as `benchmarks.bench_large` measures it."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from benchmarks.markdown import table, three_digits
from benchmarks.results import Part

MODULE: Final = "benchmarks.bench_large"


def measure(quick: bool) -> Part:
    """Return what `bench_large.facts` tells: "passes" and "mean score ratio" among it."""
    if find_spec(MODULE) is None:
        return Part(skipped=["the two-stage mode: there is none yet"])
    module: Any = import_module(MODULE)
    if not hasattr(module, "facts"):
        return Part(skipped=[f"the two-stage mode: {MODULE} has no `facts`"])
    return Part(facts={name: float(value) for name, value in module.facts(quick=quick).items()})


def section(part: Part) -> list[str]:
    """Write the facts."""
    return table(["", ""], [[name, three_digits(value)] for name, value in part.facts.items()])
