"""The policies that users are split among."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final, NamedTuple

from variegate.arrays import check_choice
from variegate.engine.catalogue import CatalogueSnapshot
from variegate.errors import InputError, NotFoundError, VariegateError
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDH, POLICIES, Policy, State
from variegate.policies.propensities import has_propensities
from variegate.policies.registry import PolicySpec, parse_policy
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


#: What a name alone stands for where that is not the policy with its defaults. On features no
#: longer than 1 the paper's caution of 50 outweighs dozens of lists, and nothing that a person
#: does would be seen to matter.
LINES: Final[Mapping[str, str]] = {"lmdh": "lmdh:ridge=1,exploration=0.3"}


def line_of(name: str) -> str:
    """Return the line that a policy's name alone stands for."""
    return LINES.get(name, name)


def made(name: str, line: str) -> Policy | None:
    """Return the policy of a line over two items, or raise ValueError where there is none.

    It is None for one's own class, and for one with a number for each item: those may not fit
    a catalogue of two, and are made when the real one is open.
    """
    try:
        spec = parse_policy(line)
        if ":" in spec.name or any(isinstance(value, list) for value in spec.options.values()):
            return None
        # A prior is of the real catalogue: whether it is there and fits is seen when that is open.
        options = {name: value for name, value in spec.options.items() if name != "prior"}
        few = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")
        return PolicySpec(spec.name, options)(few)
    except VariegateError as error:
        raise ValueError(f"`policies.{name}`: {error}") from None


def check_mixable(policies: Mapping[str, str]) -> None:
    """Raise ValueError if a policy draws so that the chances of its lists are not known."""
    for name, line in policies.items():
        policy = made(name, line)
        if policy is not None and not has_propensities(policy):
            raise ValueError(
                f"`mix` must be 0 for policies that draw by themselves, as {name!r} ({line}) "
                "does: the chances of its lists are not known"
            )


def any_policy(name: str, catalogue: Catalogue, experiment: Experiment) -> Policy:
    """Return a policy that has learnt nothing, served or not.

    Raises NotFoundError for a name that nobody has, InputError where it does not fit.
    """
    if name in experiment.lines:
        return experiment.new_policy(name, catalogue)
    known = [*experiment.names, *(name for name in POLICIES if name not in experiment.lines)]
    return parse_policy(line_of(check_choice("policy", name, known)))(catalogue)


def label_of(name: str, policy: Policy) -> str:
    """Return what to call a policy; one with a name of the operator's own is told apart by it."""
    return policy.label if name in POLICIES else f"{policy.label} ({name})"


def policies_view(catalogue: Catalogue, experiment: Experiment) -> list[dict[str, Any]]:
    """Return every policy that can work on this catalogue, those that are served first."""
    found = []
    for name in dict.fromkeys([*experiment.names, *POLICIES]):
        try:
            policy = any_policy(name, catalogue, experiment)
            policy.recommend(1, rng=0)
        except InputError:
            continue
        found.append(
            {
                "name": name,
                "label": label_of(name, policy),
                "served": name in experiment.lines,
                "learns": bool(policy.state().arrays),
            }
        )
    return found


#: Bytes that the policies of the latest users may take, as far as can be told.
MOST_BYTES: Final = 100_000_000
#: A policy holds a matrix and a root of it, of which the state is half of one, and itself.
_TIMES_STATE, _AT_LEAST = 5, 4_000


class _Kept(NamedTuple):
    name: str
    state: bytes | None
    policy: Policy


class PolicyCache:
    """Policies by what the store has of their users: one that was changed elsewhere is not found.

    A policy that was taken may learn what is not kept in the end, so it is gone from here until
    it is put back, after the commit.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._revision = ""
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def take(self, user: UserRow, revision: str) -> Policy | None:
        """Return the policy of the user as the store has them, under this revision of the items."""
        self._turn_to(revision)
        kept = self._let_go(user.id)
        # Not by the version: a user who was forgotten and came back counts anew.
        if kept is None or kept.name != user.policy or kept.state != user.state:
            return None
        return kept.policy

    def put(self, user: UserRow, revision: str, policy: Policy) -> None:
        """Keep the policy of a user that the store has so, and let the oldest go."""
        self._turn_to(revision)
        self._let_go(user.id)
        kept = self._kept[user.id] = _Kept(user.policy, user.state, policy)
        self._bytes += _weight(kept)
        while self._bytes > self._most:
            self._let_go(next(iter(self._kept)))

    def drop(self, user: str) -> None:
        """Let a user's policy go."""
        self._let_go(user)

    def _let_go(self, user: str) -> _Kept | None:
        kept = self._kept.pop(user, None)
        if kept is not None:
            self._bytes -= _weight(kept)
        return kept

    def _turn_to(self, revision: str) -> None:
        if revision != self._revision:
            # Each holds the whole catalogue that it was made over.
            self._kept.clear()
            self._bytes = 0
            self._revision = revision


def _weight(kept: _Kept) -> int:
    return _AT_LEAST + _TIMES_STATE * len(kept.state or b"")
