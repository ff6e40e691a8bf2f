"""The processes of a service that runs."""

from pathlib import Path

from tools.loadtest.server import family_of


def engine_of(pid: int) -> int:
    """Return the id of a service's engine process."""
    (found,) = (one for one in family_of(pid) if _is_engine(one))
    return found


def has_ended(engine: int) -> bool:
    """Whether an engine process has ended, and another may have its id."""
    try:
        return not _is_engine(engine)
    except (FileNotFoundError, ProcessLookupError):
        return True


def _is_engine(pid: int) -> bool:
    # That of a process that nobody has waited for is empty.
    return b"variegate.engine.process_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
