"""When the waiting for a list's feedback is over: sums are learnt, and silence may be."""

from dataclasses import dataclass
from typing import Any

from variegate.engine.feedback import with_rewards
from variegate.engine.terms import terms_of
from variegate.engine.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class CloseSlate:
    """The end of the waiting for one slate."""

    slate: str

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Close the slate, unless another process has; say whether that was done."""
        row = uow.slate(self.slate)
        if row.closed or row.due is None or uow.now < row.due:
            return {"closed": False}
        silence = terms_of(row).default_reward
        rewards = [silence if reward is None else reward for reward in row.rewards]
        taught = {
            place: reward
            for place, reward in enumerate(rewards)
            if reward is not None and not row.taught[place]
        }
        closed = row._replace(closed=True)
        if taught and uow.teach(row, taught):
            done = [place in taught or was for place, was in enumerate(row.taught)]
            closed = with_rewards(row, rewards)._replace(closed=True, taught=done)
        else:
            taught = {}
        body = {"taught": {str(place): reward for place, reward in taught.items()}}
        uow.take(closed, "close", body)
        return {"closed": True}
