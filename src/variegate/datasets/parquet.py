"""Tables in Parquet."""

import io
from collections.abc import Sequence

from variegate.datasets.rows import Rows, check_columns, check_polars
from variegate.errors import DataError


def read_parquet(content: bytes, where: str, wanted: Sequence[str]) -> Rows:
    """Return the `wanted` columns of a Parquet file, each of the type it has there."""
    check_polars()
    import polars as pl

    # A damaged file can end polars in a panic, which is no Exception.
    broken = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
    if not content:
        raise DataError(f"{where}: the file is empty")
    try:
        names = list(pl.read_parquet_schema(io.BytesIO(content)))
    except broken as error:
        raise _broken(where, error) from None
    check_columns(where, names, wanted)
    try:
        frame = pl.read_parquet(io.BytesIO(content), columns=list(dict.fromkeys(wanted)))
    except broken as error:
        raise _broken(where, error) from None
    if not frame.height:
        raise DataError(f"{where}: the table has no rows")
    return Rows(where, frame, lambda row: f"{where}: row {row + 1}")


def _broken(where: str, error: BaseException) -> DataError:
    reason = " ".join(str(error).split())
    return DataError(f"{where}: not a whole Parquet file: {reason}")
