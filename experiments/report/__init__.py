"""The report on a reproduction: one page, its figures, and its numbers for machines."""

from experiments.report.markdown import write_markdown
from experiments.report.writing import write_docs, write_report

__all__ = ["write_docs", "write_markdown", "write_report"]
