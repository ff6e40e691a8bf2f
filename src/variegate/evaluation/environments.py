"""The simulation and the replay as Gymnasium environments, for reinforcement-learning agents.

Importing this module registers them, and Gymnasium can do that by itself::

    gymnasium.make("variegate.evaluation.environments:variegate/Simulated-v0")
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import comb, perm
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.errors import InputError, MissingExtraError, StateError
from variegate.evaluation.replay import PolicyMaker
from variegate.evaluation.simulation import clicks, draw_taste
from variegate.model.catalogue import Catalogue
from variegate.model.gains import ORDERED
from variegate.model.search import exhaustive, greedy
from variegate.model.utility import Utility
from variegate.policies import parse_policy

try:
    import gymnasium
    from gymnasium import spaces
except ImportError:
    raise MissingExtraError("environments need gymnasium: pip install 'variegate[gym]'") from None

__all__ = [
    "REPLAY",
    "SIMULATED",
    "Action",
    "ListEnvironment",
    "Observation",
    "ReplayEnvironment",
    "SimulatedEnvironment",
    "play",
]

SIMULATED: Final = "variegate/Simulated-v0"
REPLAY: Final = "variegate/Replay-v0"

#: The best list is searched for exhaustively among at most this many lists.
MAX_LISTS: Final = 50_000
#: The largest value of a drawn feature.
MAX_DRAWN_FEATURE: Final = 0.5

#: An array by each name; see `ListEnvironment`.
Observation: TypeAlias = dict[str, Any]
#: A list: rows of the catalogue, (K,)
Action: TypeAlias = NDArray[np.int64]


class ListEnvironment(gymnasium.Env[Observation, Action]):
    """Shows lists of `k` of L items to a user, for `rounds` steps.

    An action is a list of rows of the catalogue, from the top down. Every action is allowed, but
    a row that repeats one above it, or that is not a candidate (any more), leaves its position
    empty: the user sees the list without it, and it earns nothing. So agents that sample their
    actions work, and repeats cost them reward.

    An observation holds the ``features`` of the items, (L, d); which rows may be shown, as
    ``candidates``, (L,); and the last list: what was ``shown``, (K,), with L for an empty
    position, and the ``clicks``, (K,). The reward is the number of clicks.

    Parameters
    ----------
    items
        L, the number of items.
    features
        d, the number of features.
    max_feature
        The largest absolute value of a feature.
    k
        Items in a list.
    rounds
        Lists after which an episode is truncated.
    """

    #: The items of this episode; the next episode can have others
    catalogue: Catalogue

    def __init__(
        self, items: int, features: int, max_feature: float, *, k: int, rounds: int
    ) -> None:
        self.k = check_count(k, items, of="the items")
        self.rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
        self.action_space = spaces.MultiDiscrete([items] * self.k)
        self.observation_space = spaces.Dict(
            {
                "features": spaces.Box(-max_feature, max_feature, (items, features), np.float64),
                "candidates": spaces.MultiBinary(items),
                "shown": spaces.MultiDiscrete([items + 1] * self.k),
                "clicks": spaces.MultiBinary(self.k),
            }
        )
        #: Which rows may be shown, (L,)
        self.candidates: MaskArray = np.ones(items, dtype=bool)
        self._rounds_left = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        info = self._begin(options or {})
        self._rounds_left = self.rounds
        nothing = np.full(self.k, len(self.candidates))
        return self._observation(nothing, np.zeros(self.k)), info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Show a list, and return the user's clicks on it."""
        if not self._rounds_left:
            raise StateError("the episode is over or has not started: call reset first")
        shown = self._shown(action)
        filled = shown < len(self.candidates)
        clicked = np.zeros(self.k)
        clicked[filled], info = self._respond(shown[filled], filled)
        self._rounds_left -= 1
        terminated, truncated = self._is_over(), not self._rounds_left
        if terminated:
            self._rounds_left = 0
        observation = self._observation(shown, clicked)
        info = {"clicks": clicked, **info}
        return observation, float(clicked.sum()), terminated, truncated, info

    @abstractmethod
    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Set the catalogue and the candidates of an episode; return its `info`."""

    @abstractmethod
    def _respond(self, items: IndexArray, filled: MaskArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return the clicks on the items, which are at the positions `filled`, and the `info`."""

    def _is_over(self) -> bool:
        """Return whether no other list can be shown."""
        return False

    def _shown(self, action: ArrayLike) -> IndexArray:
        """Return the rows shown, with L where a position stays empty."""
        rows, items = np.asarray(action), len(self.candidates)
        if rows.shape != (self.k,) or not np.issubdtype(rows.dtype, np.integer):
            raise InputError(
                f"`action` must be {self.k} row numbers, got {rows.dtype} of shape {rows.shape}"
            )
        if rows.min() < 0 or rows.max() >= items:
            raise InputError(f"`action` must hold rows from 0 to {items - 1}, got {rows.tolist()}")
        _rows, first = np.unique(rows, return_index=True)
        is_first = np.zeros(self.k, dtype=bool)
        is_first[first] = True
        return np.where(is_first & self.candidates[rows], rows, items)

    def _observation(self, shown: IndexArray, clicked: FloatArray) -> Observation:
        return {
            "features": np.array(self.catalogue.features),
            "candidates": self.candidates.astype(np.int8),
            "shown": shown.astype(np.int64),
            "clicks": clicked.astype(np.int8),
        }


class SimulatedEnvironment(ListEnvironment):
    """A user who clicks as in the paper's model (Eq. 10), drawn for each episode.

    Items stay: the same list can be shown again. Users and their random numbers depend on the
    seed alone, whatever is shown, so agents with the same seed meet the same user and the same
    random numbers.

    After a step, `info` holds the ``clicks``; the list's ``value`` F(A | eta), the expected
    reward; and its ``regret``, ``best_value`` minus the value. Where ``best_is_exact`` is false
    there are too many lists to enumerate: the best value is that of the greedy list for the true
    preferences, and the regret can be negative.

    Parameters
    ----------
    items, features
        L and d of drawn items; the paper has 20 and 10.
    k
        Items in a list.
    rounds
        Lists after which an episode is truncated.
    utility
        Your own items and user, the same in every episode, in place of drawn ones.
    """

    def __init__(
        self,
        *,
        items: int = 20,
        features: int = 10,
        k: int = 5,
        rounds: int = 2000,
        utility: Utility | None = None,
    ) -> None:
        self._given = utility
        if utility is not None:
            items, features = len(utility.catalogue), utility.catalogue.d
        self._size = (
            check_count(items, 10**9, name="items", of="the most that make sense"),
            check_count(features, 10**6, name="features", of="the most that make sense"),
        )
        largest = MAX_DRAWN_FEATURE if utility is None else _max_feature(utility.catalogue)
        super().__init__(items, features, largest, k=k, rounds=rounds)
        #: The preferences of this episode's user
        self.utility: Utility

    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        self.utility = self._draw() if self._given is None else self._given
        self.catalogue = self.utility.catalogue
        # Under `growing` the value of a list depends on its order.
        ordered = self.utility.normaliser in ORDERED
        lists = (perm if ordered else comb)(len(self.catalogue), self.k)
        scorer = self.utility.scorer(self.catalogue.candidates(), self.k)
        self._best_is_exact = lists <= MAX_LISTS
        _places, gains = (
            exhaustive(scorer, self.k, ordered=ordered)
            if self._best_is_exact
            else greedy(scorer, self.k)
        )
        self._best_value = float(gains.sum())
        return self._info()

    def _draw(self) -> Utility:
        items, features = self._size
        return draw_taste(self.np_random, items=items, features=features)

    def _respond(self, items: IndexArray, filled: MaskArray) -> tuple[FloatArray, dict[str, Any]]:
        # One for every position, filled or not, so that they do not depend on the action.
        uniforms = self.np_random.random(self.k)
        gains = self.utility.gains(items)
        value = float(gains.sum())
        info = {"value": value, "regret": self._best_value - value, **self._info()}
        return clicks(gains, uniforms[filled]), info

    def _info(self) -> dict[str, Any]:
        return {"best_value": self._best_value, "best_is_exact": self._best_is_exact}


class ReplayEnvironment(ListEnvironment):
    """Interaction replay, as in the paper: the user clicks on the items in their held-out likes.

    Items that were shown leave the candidates, so an episode ends (is terminated) when fewer than
    `k` are left. It is not Li et al.'s unbiased replay: an item that the user never rated counts
    as rejected.

    Every episode has one of the users, drawn at random or given by number:
    ``env.reset(options={"user": 3})``. `info` has the ``user``, the ``clicks``, the ``recall`` so
    far and how many candidates are ``left``.

    Parameters
    ----------
    catalogue
        The items.
    likes
        For each user, the rows of the items they like, or a mask over the catalogue.
    k
        Items in a list.
    rounds
        Lists after which an episode is truncated.
    candidates
        Rows that can be shown at the start, or a mask; all, if not given. Likes outside
        them do not count.
    """

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        likes: Sequence[ArrayLike],
        k: int = 10,
        rounds: int = 30,
        candidates: ArrayLike | None = None,
    ) -> None:
        self.catalogue = catalogue
        self._start = np.zeros(len(catalogue), dtype=bool)
        self._start[catalogue.candidates(candidates)] = True
        check_count(k, int(self._start.sum()))
        super().__init__(len(catalogue), catalogue.d, _max_feature(catalogue), k=k, rounds=rounds)
        if not len(likes):
            raise InputError("`likes` must have the likes of at least one user, got none")
        self._likes = [self._like_mask(rows, user) for user, rows in enumerate(likes)]
        self._user, self._hits = 0, 0.0

    def _like_mask(self, rows: ArrayLike, user: int) -> MaskArray:
        if np.ndim(rows) != 1:
            raise InputError(
                f"`likes` must be a list of rows for each user, got {rows!r} for user {user}"
            )
        mask = np.zeros(len(self.catalogue), dtype=bool)
        mask[self.catalogue.candidates(rows)] = True
        mask &= self._start
        if not mask.any():
            raise InputError(
                f"`likes` must hold a candidate for each user, got none for user {user}"
            )
        return mask

    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        users = len(self._likes)
        user = options.get("user")
        if user is None:
            user = int(self.np_random.integers(users))
        elif user not in range(users):
            raise InputError(f"`user` must be from 0 to {users - 1}, got {user!r}")
        self._user, self._hits = int(user), 0.0
        self.candidates = self._start.copy()
        return self._info()

    def _respond(self, items: IndexArray, filled: MaskArray) -> tuple[FloatArray, dict[str, Any]]:
        clicked = self._likes[self._user][items].astype(np.float64)
        self.candidates[items] = False
        self._hits += float(clicked.sum())
        return clicked, self._info()

    def _is_over(self) -> bool:
        return int(self.candidates.sum()) < self.k

    def _info(self) -> dict[str, Any]:
        return {
            "user": self._user,
            "recall": self._hits / float(self._likes[self._user].sum()),
            "left": int(self.candidates.sum()),
        }


def play(
    env: gymnasium.Env[Any, Any],
    policy: str | PolicyMaker,
    rounds: int,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
) -> FloatArray:
    """Reset `env`, let a new policy recommend and learn, and return the rewards, (rounds,).

    There are fewer rewards if the episode ends earlier.

    Parameters
    ----------
    env
        An environment of this module, with or without wrappers that do not change the actions.
    policy
        As text, such as ``"lmdh:ridge=1"``, or a function that makes one for a catalogue: the
        items can differ from episode to episode.
    rounds
        The maximum number of lists.
    seed
        The same seed gives the same rewards. The user's random numbers and the policy's are
        separate, so policies with the same seed meet the same user.
    options
        Passed to `env.reset`.

    Examples
    --------
    >>> from variegate.evaluation.environments import play
    >>> env = gymnasium.make("variegate/Simulated-v0", items=8, k=2)
    >>> play(env, "lmdh", 5, seed=1).shape
    (5,)
    """
    world = env.unwrapped
    if not isinstance(world, ListEnvironment):
        raise InputError(f"`env` must be an environment of variegate, got {world}")
    rounds = check_count(rounds, 10**9, name="rounds", of="the most that make sense")
    env.reset(seed=seed, options=options)
    # The environment seeds its own numbers with `seed` itself, so the policy gets a child.
    rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    make = parse_policy(policy) if isinstance(policy, str) else policy
    player = make(world.catalogue)
    rewards: list[float] = []
    is_over = False
    while len(rewards) < rounds and not is_over:
        slate = player.recommend(world.k, world.candidates, rng=rng)
        _observation, reward, terminated, truncated, info = env.step(slate.items)
        player.update(slate, info["clicks"])
        rewards.append(float(reward))
        is_over = terminated or truncated
    return np.array(rewards)


def _max_feature(catalogue: Catalogue) -> float:
    """Return the largest absolute feature; 1 where all are 0, since a space needs a bound."""
    return float(np.abs(catalogue.features).max()) or 1.0


for _name, _class in ((SIMULATED, "SimulatedEnvironment"), (REPLAY, "ReplayEnvironment")):
    # Registering an id twice warns, and a reload runs this module twice.
    if _name not in gymnasium.registry:
        gymnasium.register(_name, entry_point=f"variegate.evaluation.environments:{_class}")
