"""Users, items and priors between a file and a store."""

from typing import Final

from variegate.cli.console import Progress
from variegate.engine.executor import Executor
from variegate.engine.import_file import ImportFile
from variegate.engine.import_plan import plan_import, unfinished
from variegate.engine.importing import ImportUsers
from variegate.errors import VariegateError

#: Bytes for one parsed line: a process of its own may take more than a service.
_MAX_COST: Final = 2**31


def imported(
    executor: Executor,
    path: str,
    *,
    replace: bool = False,
    progress: Progress = lambda _done, _of: None,
) -> tuple[int, int]:
    """Take in a file's lines; return how many users, and how many items and priors.

    Every line is checked first; what can be wrong with one alone changes nothing.
    """
    file = ImportFile(path, f"{path}:", _MAX_COST)
    plan = plan_import(
        file, executor.store, executor.live, executor.experiment, replace=replace, max_entries=None
    )
    done = 0
    for piece in plan.pieces(replace=replace):
        (outcome,) = executor([piece])
        if isinstance(outcome, VariegateError):
            raise unfinished(outcome, done)
        done += len(piece.entries) if isinstance(piece, ImportUsers) else 0
        progress(done, len(plan.users))
    return len(plan.users), plan.items_and_priors
