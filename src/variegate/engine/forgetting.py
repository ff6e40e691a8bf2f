"""Forgetting a user wholly."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from variegate.engine.alone import Done
from variegate.errors import NotFoundError
from variegate.store import Batch


@dataclass(frozen=True, slots=True)
class ForgetUser:
    """Delete a user, all lists given and all feedback taken."""

    user: str
    alone: ClassVar[bool] = True

    def apply_alone(self, batch: Batch, executor: Any) -> Done:
        """Delete everything, or raise NotFoundError."""
        if not batch.forget_user(self.user):
            raise NotFoundError(f"no user {self.user!r}")
        answer = {"user": self.user, "forgotten": True}
        return Done(answer, partial(executor.kept.drop, self.user))
