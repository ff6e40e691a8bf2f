"""The machine that is measured, and how many of its cores a process may use.

Nothing here imports NumPy: BLAS reads its number of threads when it is loaded.
"""

import os
import platform
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

#: What tells BLAS, OpenMP and numba how many threads they may have.
THREADS: Final = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PACKAGES: Final = ("variegate", "numpy", "scipy", "numba", "pyversity", "usearch")
#: Tells the process that uses all cores which ones its parent had.
CORES: Final = "VARIEGATE_BENCHMARK_CORES"


def all_cores() -> list[int]:
    """Return the cores that the benchmark was given when it started."""
    value = os.environ.get(CORES)
    if value:
        return [int(core) for core in value.split(",")]
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def use_cores(cores: Collection[int]) -> None:
    """Hold this process, and those it starts, to some cores; before NumPy is imported."""
    os.environ[CORES] = ",".join(map(str, all_cores()))
    os.environ.update(dict.fromkeys(THREADS, str(len(cores))))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def described() -> dict[str, str]:
    """Return what a reader must know of the machine."""
    return {
        "processor": _processor(),
        "cores": str(len(all_cores())),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "load when it started": f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?",
        "Python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that matter here, of those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    place = Path("/proc/cpuinfo")
    if place.is_file():
        for line in place.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _memory() -> str:
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} GB"
    return "unknown"
