"""The A/B experiment: which policies are served, who gets which, and a cache of users' policies."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from hashlib import sha256
from typing import Final, NamedTuple

from variegate.engine.catalogue import CatalogueSnapshot
from variegate.errors import NotFoundError, VariegateError
from variegate.model.catalogue import Catalogue
from variegate.policies import LMDH, Policy, State
from variegate.policies.item_lmdp import ItemLMDP
from variegate.policies.propensities import has_propensities
from variegate.policies.registry import PolicySpec, parse_policy
from variegate.prior import ItemPrior, Prior
from variegate.store import UserRow

#: Makes a policy over a catalogue; keyword arguments override the options of its spec.
Maker = Callable[..., Policy]

#: Specs of policies that are named without options, where the service has other defaults than the
#: library. With features of norm 1, the paper's ridge of 50 would hide dozens of lists' feedback.
DEFAULT_SPECS: Final[Mapping[str, str]] = {"lmdh": "lmdh:ridge=1,exploration=0.3"}

#: Approximate bytes of the cached policies, at most.
MAX_CACHE_BYTES: Final = 36_000_000
#: A policy holds a matrix, of which the state has one half, and some more.
_BYTES_PER_STATE_BYTE, _MIN_BYTES = 2, 4_000


class Experiment:
    """The policies by name, and the share of users that each of them gets.

    Parameters
    ----------
    specs
        A policy's spec, such as ``lmdh:ridge=1``, by the name that the operator chose.
    split
        Weights by name; empty for equal shares.
    seed
        Decides, with the user's id, who gets which policy.

    Examples
    --------
    >>> Experiment({"a": "lmdh", "b": "mmr"}, {"a": 1.0}).assign("ann")
    'a'
    """

    def __init__(
        self, specs: Mapping[str, str], split: Mapping[str, float] | None = None, seed: int = 0
    ) -> None:
        self.specs, self.split, self.seed = specs, split or {}, seed
        self._makers: dict[str, Maker] = {name: _maker(spec) for name, spec in specs.items()}
        self._latest: tuple[CatalogueSnapshot, Experiment] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The policies, in the order given."""
        return tuple(self.specs)

    def assign(self, user: str) -> str:
        """Return the name of the policy that a new user gets: the same one on every machine."""
        weights = {name: self.split.get(name, 0.0 if self.split else 1.0) for name in self.names}
        digest = sha256(f"{self.seed}:{user}".encode()).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64 * sum(weights.values())
        for name, weight in weights.items():
            place -= weight
            if place < 0 and weight > 0:
                return name
        return max(weights, key=weights.__getitem__)  # rounding at the end of the last share

    def as_of(self, snapshot: CatalogueSnapshot) -> "Experiment":
        """Return the experiment with the priors that were fitted to users by then.

        A fitted prior does not apply to a policy whose spec has no prior.
        """
        if not snapshot.priors:
            return self
        latest = self._latest
        if latest is None or latest[0] is not snapshot:
            latest = self._latest = snapshot, self._with_priors(snapshot)
        return latest[1]

    def new_policy(self, name: str, catalogue: Catalogue) -> Policy:
        """Return a policy that has learnt nothing."""
        if name not in self._makers:
            raise NotFoundError(f"no policy {name!r}: there are {', '.join(self.names)}")
        return self._makers[name](catalogue)

    def policy_of(self, user: UserRow, catalogue: Catalogue) -> Policy:
        """Return the user's policy with what it has learnt."""
        policy = self.new_policy(user.policy, catalogue)
        if user.state is not None:
            policy.restore(State.from_bytes(user.state))
        return policy

    def _with_priors(self, snapshot: CatalogueSnapshot) -> "Experiment":
        other = copy(self)
        other._makers = dict(self._makers)
        for name in self._makers.keys() & snapshot.priors.keys():
            make = self._makers[name]
            policy = make(snapshot.catalogue)
            if full_prior(policy) is not None:
                # The diversity floor is a promise of the operator: a fitted prior keeps it.
                floor = {"floor": policy.floor} if isinstance(policy, LMDH) else {}
                other._makers[name] = partial(make, prior=snapshot.priors[name], **floor)
        return other


class _CachedPolicy(NamedTuple):
    name: str
    #: Of the state, in 64 bits: the state itself would take a third of the memory
    digest: int
    size: int
    policy: Policy


class PolicyCache:
    """The policies of the latest users, valid while the store has the state they were cached for.

    `take` removes a policy: it may learn what is rolled back. `put` returns it after the commit.
    """

    def __init__(self) -> None:
        self._bytes, self._revision = 0, ""
        self._policies: OrderedDict[str, _CachedPolicy] = OrderedDict()

    def take(self, user: UserRow, revision: str) -> Policy | None:
        """Remove and return the policy for a user's row and a revision of the items, if cached."""
        self._clear_other_than(revision)
        cached = self._remove(user.id)
        # Not by the version: it starts again for a user who was forgotten and came back.
        if cached is None or (cached.name, cached.digest) != (user.policy, hash(user.state)):
            return None
        return cached.policy

    def put(self, user: UserRow, revision: str, policy: Policy) -> None:
        """Cache the policy for a user's row as committed, and evict the least recent ones."""
        self._clear_other_than(revision)
        self._remove(user.id)
        policy.drop_estimates()  # a list is mostly followed by feedback, which changes them
        size = _MIN_BYTES + _BYTES_PER_STATE_BYTE * len(user.state or b"")
        self._policies[user.id] = _CachedPolicy(user.policy, hash(user.state), size, policy)
        self._bytes += size
        while self._bytes > MAX_CACHE_BYTES:
            self._remove(next(iter(self._policies)))

    def drop(self, user: str) -> None:
        """Remove a user's policy."""
        self._remove(user)

    def _remove(self, user: str) -> _CachedPolicy | None:
        cached = self._policies.pop(user, None)
        if cached is not None:
            self._bytes -= cached.size
        return cached

    def _clear_other_than(self, revision: str) -> None:
        if revision != self._revision:
            # Each policy holds the whole catalogue that it was made over.
            self._policies.clear()
            self._bytes = 0
            self._revision = revision


def full_prior(policy: Policy) -> Prior | ItemPrior | None:
    """Return the prior of a policy, if it is one that the policy's users can be fitted with."""
    if isinstance(policy, ItemLMDP):
        return policy.prior
    prior = getattr(policy, "prior", None)
    # One of all weights: those of features and of distances.
    return prior if isinstance(prior, Prior) and prior.m == policy.catalogue.m else None


def default_spec(name: str) -> str:
    """Return the spec of a policy that is named without options."""
    return DEFAULT_SPECS.get(name, name)


def check_spec(name: str, spec: str) -> Policy | None:
    """Return the policy of a spec over two items, or raise ValueError if the spec is not valid.

    Returns None for a class from another module, and for options with a number per item: they may
    not fit two items, and are checked when the real catalogue is open.
    """
    try:
        parsed = parse_policy(spec)
        if ":" in parsed.name or any(isinstance(value, list) for value in parsed.options.values()):
            return None
        # A prior is for the real catalogue: its file is read and checked when that is open.
        options = {name: value for name, value in parsed.options.items() if name != "prior"}
        two_items = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")
        return PolicySpec(parsed.name, options)(two_items)
    except VariegateError as error:
        raise ValueError(f"`policies.{name}`: {error}") from None


def check_propensities_known(policies: Mapping[str, str]) -> None:
    """Raise ValueError for a stochastic policy whose propensities cannot be computed."""
    for name, spec in policies.items():
        policy = check_spec(name, spec)
        if policy is not None and not has_propensities(policy):
            raise ValueError(
                f"`mix` must be 0 for stochastic policies, as {name!r} ({spec}) is: the "
                "propensities of its lists are not known"
            )


def _maker(spec: str) -> Maker:
    parsed = parse_policy(spec)
    return partial(parsed.maker(), **parsed.options)
