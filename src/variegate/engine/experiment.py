"""The A/B experiment: which policies are served, and who gets which."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from hashlib import sha256
from typing import Final

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
