"""Commands that measure: replay, compare, sweep, choose."""

from variegate.cli.experiments.choose import choose
from variegate.cli.experiments.compare import compare
from variegate.cli.experiments.replay import replay
from variegate.cli.experiments.sweep import sweep

__all__ = ["choose", "compare", "replay", "sweep"]
