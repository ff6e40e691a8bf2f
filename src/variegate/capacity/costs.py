"""The costs of one request, as a calibration run measures them, and their file."""

import json
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from typing import Any

from variegate.arrays import check_not_negative, check_positive
from variegate.errors import DataError
from variegate.files import PathLike, as_path, atomic_write, read_file


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What lists and feedback cost on PostgreSQL, measured with equal numbers of both.

    A batch of n requests is one transaction. It costs `batch_...` once and `request_...` n times.
    """

    #: Where and when this was measured, for people
    machine: str
    #: Items of the catalogue that was served
    catalogue: int
    #: CPU seconds of the service
    batch_cpu: float
    request_cpu: float
    #: CPU seconds of the database
    batch_database_cpu: float
    request_database_cpu: float
    #: CPU seconds of a list for each further item of the catalogue
    item_cpu: float
    #: Response times of requests that came alone, as quantiles in equal steps, in seconds
    lone_seconds: tuple[float, ...]
    #: Seconds that each further request adds to a batch
    request_seconds: float
    #: Seconds for which a worker lets others come into a batch of more than one
    gather_seconds: float
    #: Requests in one batch, at most
    max_batch: int
    #: Bytes of rows with their indexes, without dead rows
    user_bytes: float
    list_bytes: float
    feedback_bytes: float
    #: Bytes of the write-ahead log per request
    wal_bytes: float
    #: Resident bytes of a worker, and of each item of the catalogue in it
    worker_bytes: float
    item_bytes: float

    def __post_init__(self) -> None:
        if not self.lone_seconds:
            raise DataError("`lone_seconds` must hold at least one time, got none")
        check_positive(max_batch=self.max_batch, catalogue=self.catalogue)
        for name, value in asdict(self).items():
            if name == "lone_seconds":
                check_positive(lone_seconds=min(value))
            elif name != "machine":
                check_not_negative(**{name: value})

    @classmethod
    def load(cls, path: PathLike | None = None) -> "Costs":
        """Return the costs in a file; without one, those measured for the documentation."""
        if path is None:
            text, where = files(__package__).joinpath("costs.json").read_bytes(), "costs.json"
        else:
            text, where = read_file(path)
        try:
            values: dict[str, Any] = json.loads(text)
            values["lone_seconds"] = tuple(values["lone_seconds"])
            return cls(**values)
        except (ValueError, TypeError, KeyError) as error:
            names = ", ".join(field.name for field in fields(cls))
            raise DataError(
                f"{where}: must be a JSON object of costs with {names}: {error}"
            ) from None

    def save(self, path: PathLike) -> None:
        """Write the costs to a file."""
        with atomic_write(as_path(path)) as file:
            file.write(json.dumps(asdict(self), indent=1).encode() + b"\n")
