"""The policies that users are split among."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any

from variegate.engine.catalogue import CatalogueSnapshot
from variegate.errors import NotFoundError
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDH, Policy, State
from variegate.policies.registry import parse_policy
from variegate.prior import Prior
from variegate.store import UserRow

#: Makes a policy, with options that stand in for those of its line.
Maker = Callable[..., Policy]


@dataclass(frozen=True)
class Experiment:
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
        self._set(_makers={name: _maker(line) for name, line in self.lines.items()}, _latest=None)

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

    def as_of(self, snapshot: CatalogueSnapshot) -> "Experiment":
        """Return the policies as they begin by now: with what was fitted to users, where it was.

        What was fitted does not touch a policy whose line gives it no prior by now.
        """
        if not snapshot.priors:
            return self
        latest: tuple[CatalogueSnapshot, Experiment] | None = self._latest  # type: ignore[attr-defined]
        if latest is None or latest[0] is not snapshot:
            latest = snapshot, self._beginning(snapshot)
            self._set(_latest=latest)
        return latest[1]

    def new_policy(self, name: str, catalogue: Catalogue) -> Policy:
        """Return a policy that has learnt nothing."""
        makers: Mapping[str, Maker] = self._makers  # type: ignore[attr-defined]
        if name not in makers:
            raise NotFoundError(f"no policy {name!r}: there are {', '.join(self.names)}")
        return makers[name](catalogue)

    def policy_of(self, user: UserRow, catalogue: Catalogue) -> Policy:
        """Return the user's policy with what it has learnt."""
        policy = self.new_policy(user.policy, catalogue)
        if user.state is not None:
            policy.restore(State.from_bytes(user.state))
        return policy

    def _beginning(self, snapshot: CatalogueSnapshot) -> "Experiment":
        makers: dict[str, Maker] = dict(self._makers)  # type: ignore[attr-defined]
        for name in makers.keys() & snapshot.priors.keys():
            policy = makers[name](snapshot.catalogue)
            if prior_of(policy) is not None:
                # What the operator promised stays, wherever users begin.
                promised = {"floor": policy.floor} if isinstance(policy, LMDH) else {}
                makers[name] = partial(makers[name], prior=snapshot.priors[name], **promised)
        other = replace(self)
        other._set(_makers=makers)
        return other

    def _set(self, **values: Any) -> None:
        # The one place where a frozen object may still be written to.
        for name, value in values.items():
            object.__setattr__(self, name, value)


def prior_of(policy: Policy) -> Prior | None:
    """Return what a policy began with, if that is a belief in all of its weights."""
    prior = getattr(policy, "prior", None)
    has_all = isinstance(prior, Prior) and prior.m == policy.catalogue.m
    return prior if has_all else None


def _maker(line: str) -> Maker:
    spec = parse_policy(line)
    return partial(spec.maker(), **spec.options)
