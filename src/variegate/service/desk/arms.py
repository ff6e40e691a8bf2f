"""The policies that users are split among."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from variegate.catalogue import Catalogue
from variegate.errors import NotFoundError
from variegate.policies import Policy, State
from variegate.policies.spec import parse_policy
from variegate.store import UserRow


@dataclass(frozen=True)
class Arms:
    """Policies by name, and the share of the users that each gets.

    Parameters
    ----------
    lines
        A policy's line, such as ``lmdh:ridge=1``, by the name the operator gave it.
    split
        Weights by name; empty gives all the same.
    seed
        Decides with the user's id who gets which.

    Examples
    --------
    >>> Arms({"a": "lmdh", "b": "mmr"}, {"a": 1.0}).assigned("ann")
    'a'
    """

    lines: Mapping[str, str]
    split: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        makers = {name: _maker(line) for name, line in self.lines.items()}
        object.__setattr__(self, "_makers", makers)

    @property
    def names(self) -> tuple[str, ...]:
        """The policies, in the order they were given."""
        return tuple(self.lines)

    def assigned(self, user: str) -> str:
        """Return the name of the policy that a new user gets: the same one on every machine."""
        weights = {name: self.split.get(name, 0.0 if self.split else 1.0) for name in self.names}
        digest = sha256(f"{self.seed}:{user}".encode()).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64 * sum(weights.values())
        for name, weight in weights.items():
            place -= weight
            if place < 0 and weight > 0:
                return name
        return max(weights, key=weights.__getitem__)  # rounding at the very end of the last share

    def new_policy(self, name: str, catalogue: Catalogue) -> Policy:
        """Return a policy that has learnt nothing."""
        makers: Mapping[str, Callable[[Catalogue], Policy]] = self._makers  # type: ignore[attr-defined]
        if name not in makers:
            raise NotFoundError(f"no policy {name!r}: there are {', '.join(self.names)}")
        return makers[name](catalogue)

    def policy_of(self, user: UserRow, catalogue: Catalogue) -> Policy:
        """Return the user's policy with what it has learnt."""
        policy = self.new_policy(user.policy, catalogue)
        if user.state is not None:
            policy.restore(State.from_bytes(user.state))
        return policy


def _maker(line: str) -> Callable[[Catalogue], Policy]:
    spec = parse_policy(line)
    make: Callable[..., Policy] = spec.maker()
    options: dict[str, Any] = dict(spec.options)
    return lambda catalogue: make(catalogue, **options)
