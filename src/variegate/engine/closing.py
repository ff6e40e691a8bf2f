"""When the waiting for a list's feedback is over: sums are learnt, and silence may be."""

from dataclasses import dataclass
from typing import Any

from variegate.engine.ledger import Ledger
from variegate.engine.reporting import with_rewards
from variegate.engine.terms import terms_of


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of the waiting for one slate."""

    slate: str

    def apply(self, ledger: Ledger) -> dict[str, Any]:
        """Close the slate, unless another process has; say whether that was done."""
        row = ledger.slate(self.slate)
        if row.closed or row.due is None or ledger.now < row.due:
            return {"closed": False}
        silence = terms_of(row).default_reward
        rewards = [silence if reward is None else reward for reward in row.rewards]
        taught = {
            place: reward
            for place, reward in enumerate(rewards)
            if reward is not None and not row.taught[place]
        }
        closed = row._replace(closed=True)
        if taught and ledger.teach(row, taught):
            done = [place in taught or was for place, was in enumerate(row.taught)]
            closed = with_rewards(row, rewards)._replace(closed=True, taught=done)
        else:
            taught = {}
        body = {"taught": {str(place): reward for place, reward in taught.items()}}
        ledger.take(closed, "close", body)
        return {"closed": True}
