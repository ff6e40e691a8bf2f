"""Tables by the ending of their file."""

from collections.abc import Sequence

from variegate.datasets.delimited import Layout, read_delimited
from variegate.datasets.parquet import read_parquet
from variegate.datasets.rows import Rows
from variegate.datasets.sources import PathLike, as_path, read_file
from variegate.errors import InputError

#: The separator that a file's ending stands for
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PARQUET = (".parquet", ".pq")


def read_table(
    path: PathLike, wanted: Sequence[str], *, encoding: str, separator: str | None
) -> Rows:
    """Return the `wanted` columns of a CSV, TSV or Parquet file.

    The file's ending says which it is, unless `separator` says that it is text.
    """
    ending = as_path(path).suffix.lower()
    if separator is None and ending in _PARQUET:
        content, where = read_file(path)
        return read_parquet(content, where, wanted)
    between = _SEPARATORS.get(ending) if separator is None else separator
    if between is None:
        raise InputError(
            f"`path` must end in .csv, .tsv or .parquet unless `separator` is given, got {path}"
        )
    layout = Layout(between, encoding=encoding)
    content, where = read_file(path)
    return read_delimited(content, where, layout, wanted)
