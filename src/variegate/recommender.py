"""Recommendations to many users in one process: one policy per user, saved in one file."""

import json
from collections.abc import Iterable, KeysView, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from variegate.errors import DataError, InputError, NotFoundError, StateError
from variegate.files import FileFormat, atomic_write
from variegate.model.candidates import Offer
from variegate.model.catalogue import Catalogue
from variegate.model.constraints import Constraints
from variegate.model.fingerprint import Fingerprint
from variegate.model.slate import Slate
from variegate.model.utility import Preferences
from variegate.policies import Dial, Policy, PolicySpec, State, parse_policy
from variegate.policies.base import option_reprs
from variegate.policies.batch import recommend_many
from variegate.prior import PriorFile

FORMAT: Final = FileFormat("recommender", 1, "use the version that wrote it")
#: Options that are saved as arrays of their own have this before their names.
_OPTION: Final = "option "


class Recommender:
    """Recommends from one catalogue to any number of users, each with a policy of their own.

    It keeps all users in memory and is not thread-safe; `variegate serve` runs a service with
    a database.

    Parameters
    ----------
    catalogue
        The items.
    policy
        The policy of every user, as text such as ``"lmdp"`` or ``"lmdh:ridge=1"``; see
        `parse_policy`.
    seed
        For policies that sample: each user has random numbers that depend on this seed, the
        user's id and the number of the list, and not on other users.
    options
        Options of the policy.

    Examples
    --------
    >>> items = Catalogue(list("abc"), [[1, 0], [0, 1], [1, 1]], "cosine")
    >>> recommender = Recommender(items, "lmdh", ridge=1.0)
    >>> slate = recommender.recommend("anna", k=2)
    >>> slate.ids, slate.user_id
    (('c', 'a'), 'anna')
    >>> recommender.update(slate, rewards=[0, 1])
    >>> recommender.recommend("anna", k=1).ids, recommender.recommend("ben", k=1).ids
    (('a',), ('c',))
    >>> recommender
    Recommender(Catalogue(3 items, 2 features, distances: cosine), 'lmdh', ridge=1.0, users: 2)
    """

    def __init__(
        self, catalogue: Catalogue, policy: str = "lmdp", *, seed: int = 0, **options: Any
    ) -> None:
        spec = parse_policy(policy)
        self._spec = PolicySpec(spec.name, {**spec.options, **options})
        self.catalogue: Final = catalogue
        self.seed: Final = _checked_seed(seed)
        self._spec(catalogue)  # wrong options are an error here, not at the first user
        self._policies: dict[str, Policy] = {}
        #: Lists made so far with the recommender's own random numbers
        self._lists: dict[str, int] = {}

    def __repr__(self) -> str:
        parts = [repr(self.catalogue), repr(self._spec.name), *option_reprs(self._spec.options)]
        return f"Recommender({', '.join(parts)}, users: {len(self.users)})"

    @property
    def users(self) -> KeysView[str]:
        """The ids of the users who had a list or gave feedback."""
        return self._policies.keys()

    def recommend(
        self,
        user_id: str | int,
        k: int = 10,
        candidates: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        rng: Any = None,
        *,
        dial: Dial | None = None,
        constraints: Constraints | None = None,
        **offer: Unpack[Offer],
    ) -> Slate:
        """Return a list of `k` items for a user, who may be new. Nothing is learnt.

        Parameters
        ----------
        user_id
            Any text that is not empty; a whole number counts as its digits.
        k, candidates, exclude, dial, constraints
            As for `Policy.recommend`. `catalogue.rows(ids)` turns ids of items into rows.
        rng
            A NumPy generator or a seed, in place of the user's own random numbers.

        Other Parameters
        ----------------
        scores, features, vectors, attributes
            As for `Policy.recommend`.
        """
        user = _checked_user(user_id)
        policy, number = self._known_or_new(user), self._lists.get(user, 0)
        samples = rng is None and policy.is_stochastic
        if samples:
            rng = np.random.default_rng([self.seed, _number_of(user), number])
        slate = policy.recommend(
            k, candidates, exclude, rng, dial=dial, constraints=constraints, **offer
        )
        self._policies[user] = policy
        if samples:
            self._lists[user] = number + 1
        return slate.for_user(user)

    def recommend_many(
        self,
        user_ids: Iterable[str | int],
        k: int = 10,
        candidates: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
        *,
        workers: int = 1,
    ) -> list[Slate]:
        """Return a list for each user, in their order: the same as `recommend` for each of them.

        Parameters
        ----------
        k, candidates, exclude
            As for `recommend`, the same for all users.
        workers
            Number of threads; more than one helps LMDH and LMDP without a prior of items, whose
            lists do not need the interpreter lock.
        """
        users = [_checked_user(user_id) for user_id in user_ids]
        policies = {user: self._known_or_new(user) for user in users}
        if any(policy.is_stochastic for policy in policies.values()):
            return [self.recommend(user, k, candidates, exclude) for user in users]
        slates = recommend_many(
            [policies[user] for user in users],
            k,
            candidates,
            exclude,
            user_ids=users,
            workers=workers,
        )
        self._policies.update(policies)
        return slates

    def update(self, slate: Slate, rewards: ArrayLike, seen: ArrayLike | None = None) -> None:
        """Learn from the feedback on a slate, for the user whom it was made for.

        An error leaves everything unchanged. Feedback for a user who was forgotten since makes
        the user known again.

        Parameters
        ----------
        slate
            A result of `recommend`.
        rewards, seen
            As for `Policy.update`.
        """
        if slate.user_id is None:
            raise InputError(
                "`slate` must come from the `recommend` of a Recommender, got one without a "
                "`user_id`"
            )
        user = _checked_user(slate.user_id)
        policy = self._known_or_new(user)
        policy.update(slate, rewards, seen)
        self._policies[user] = policy

    def learn_relevance(self, user_id: str | int, items: ArrayLike, rewards: ArrayLike) -> None:
        """Learn from rewards that items earned outside lists, for a user, who may be new.

        An error leaves everything unchanged.

        Parameters
        ----------
        items, rewards
            As for `Policy.learn_relevance`. `catalogue.rows(ids)` turns ids of items into rows.
        """
        user = _checked_user(user_id)
        policy = self._known_or_new(user)
        policy.learn_relevance(items, rewards)
        self._policies[user] = policy

    def policy(self, user_id: str | int) -> Policy:
        """Return a user's policy, for example to `explain` a slate.

        Raises NotFoundError for a user who is not in `users`.
        """
        user = _checked_user(user_id)
        if user not in self._policies:
            raise NotFoundError(f"no user {user!r}")
        return self._policies[user]

    def preferences(self, user_id: str | int) -> Preferences:
        """Return the estimated preferences of a user.

        Raises NotFoundError for a user who is not in `users`.
        """
        return self.policy(user_id).preferences

    def forget(self, user_id: str | int) -> None:
        """Delete all that was learnt about a user.

        Raises NotFoundError for a user who is not in `users`.
        """
        self.policy(user_id)
        user = _checked_user(user_id)
        del self._policies[user]
        self._lists.pop(user, None)

    def save(self, path: str | Path) -> None:
        """Write all users to `path`, atomically: an .npz file without pickle.

        The catalogue is not part of the file, only its fingerprint. Options that are objects
        other than a `Prior` or an array are not either, and `load` asks for them.
        """
        options, arrays = _split_options(self._spec.options)
        states = [policy.state().to_bytes() for policy in self._policies.values()]
        header = {
            "policy": self._spec.name,
            "options": options,
            "omitted": sorted(self._spec.options.keys() - options.keys() - arrays.keys()),
            "seed": self.seed,
            "catalogue": self.catalogue.fingerprint.to_json(),
        }
        lists = [self._lists.get(user, 0) for user in self._policies]
        contents: dict[str, NDArray[Any]] = {
            "users": _json_bytes(list(self._policies)),
            "lists": np.array(lists, dtype=np.int64),
            "states": np.frombuffer(b"".join(states), dtype=np.uint8),
            "ends": np.cumsum([len(state) for state in states], dtype=np.int64),
            **{_OPTION + name: array for name, array in arrays.items()},
        }
        with atomic_write(path) as file:
            FORMAT.write(file, header, contents)

    @classmethod
    def load(cls, path: str | Path, catalogue: Catalogue, **options: Any) -> "Recommender":
        """Return the recommender that `save` wrote, or raise DataError.

        Parameters
        ----------
        catalogue
            The catalogue that was saved with, or one that it was `with_items` to.
        options
            Options of the policy that replace the saved ones, such as a new `prior`.
        """
        with FORMAT.open(path) as (header, stored):
            arrays = {name: stored[name] for name in stored.files}
            _check_catalogue(path, header, catalogue)
            given = {**header["options"], **_read_options(arrays), **options}
            missing = [name for name in header["omitted"] if name not in given]
            users = json.loads(arrays["users"].tobytes())
            states = np.split(arrays["states"], arrays["ends"])[: len(users)]
            lists = dict(zip(users, arrays["lists"].tolist(), strict=True))
            seed, policy = header["seed"], header["policy"]
        if missing:
            raise InputError(
                f"{path}: `load` must be given {', '.join(f'`{name}`' for name in missing)}, "
                "which the file cannot hold"
            )
        recommender = cls(catalogue, policy, seed=seed, **given)
        for user, state in zip(users, states, strict=True):
            recommender._policies[user] = recommender._restored(path, user, state.tobytes())
        recommender._lists = lists
        return recommender

    def _known_or_new(self, user: str) -> Policy:
        policy = self._policies.get(user)
        return self._spec(self.catalogue) if policy is None else policy

    def _restored(self, path: str | Path, user: str, state: bytes) -> Policy:
        policy = self._spec(self.catalogue)
        try:
            policy.restore(State.from_bytes(state))
        except StateError as error:
            raise DataError(f"{path}: user {user!r}: {error}") from None
        return policy


def _checked_seed(seed: Any) -> int:
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"`seed` must be a whole number of at least 0, got {seed!r}")
    return int(seed)


def _checked_user(user_id: Any) -> str:
    is_id = isinstance(user_id, (str, int, np.integer)) and not isinstance(user_id, bool)
    if not is_id or user_id == "":
        raise InputError(
            f"`user_id` must be text that is not empty or a whole number, got {user_id!r}"
        )
    return str(user_id)


def _number_of(user: str) -> int:
    """Return a number for a user's id, the same in every process."""
    return int.from_bytes(sha256(user.encode("utf-8", "surrogatepass")).digest()[:16], "little")


def _check_catalogue(path: str | Path, header: Any, catalogue: Catalogue) -> None:
    saved = Fingerprint.from_json(header["catalogue"])
    differences = saved.differences(
        catalogue.fingerprint_of_first(min(saved.items, len(catalogue)))
    )
    if differences:
        raise DataError(f"{path}: it was saved with another catalogue: {'; '.join(differences)}")


def _split_options(
    options: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """Return the options that JSON can hold, and those that are saved as arrays."""
    plain, arrays = dict[str, Any](), dict[str, NDArray[np.generic]]()
    for name, value in options.items():
        if isinstance(value, PriorFile):
            arrays[name] = np.frombuffer(value.to_bytes(), dtype=np.uint8)
        elif isinstance(value, np.ndarray):
            arrays[name] = np.asarray(value, dtype=np.float64)
        elif isinstance(value, Path):
            plain[name] = str(value)
        elif _is_plain(value):
            plain[name] = value
    return plain, arrays


def _read_options(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.startswith(_OPTION):
            is_prior = array.dtype == np.uint8
            options[name.removeprefix(_OPTION)] = (
                PriorFile.from_bytes(array.tobytes()) if is_prior else array
            )
    return options


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bool, int, float))


def _json_bytes(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value, allow_nan=False).encode(), dtype=np.uint8)
