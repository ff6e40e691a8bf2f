"""Lists for all users of a table or of a service, written to Parquet in parts."""

from variegate.batch.folder import BatchResult
from variegate.batch.tables import Columns, recommend_all

__all__ = ["BatchResult", "Columns", "recommend_all"]
