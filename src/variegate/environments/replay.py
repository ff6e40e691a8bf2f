"""`variegate/Replay-v0`: users who click on what they are known to like."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.environments.lists import ListEnvironment, largest_feature
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue


class ReplayEnvironment(ListEnvironment):
    """Interaction replay, as the paper evaluates: a click is an item among held-out likes.

    What was shown leaves the candidates, so an episode ends (is terminated) when fewer than
    `k` are left. It is not Li et al.'s unbiased replay: an item that the user never rated
    counts as one that they turned down.

    Every episode has one of the users, drawn, or by number:
    ``env.reset(options={"user": 3})``. In `info` are the ``user``, the ``clicks``, the
    ``recall`` so far and how many candidates are ``left``.

    Parameters
    ----------
    catalogue
        The items.
    likes
        For each user, the rows of what they like, or a mask over the catalogue.
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
        super().__init__(
            len(catalogue), catalogue.d, largest_feature(catalogue), k=k, rounds=rounds
        )
        if not len(likes):
            raise InputError("`likes` must have the likes of at least one user, got none")
        self._likes = [self._liked(rows, user) for user, rows in enumerate(likes)]
        self._user, self._found = 0, 0.0

    def _liked(self, rows: ArrayLike, user: int) -> MaskArray:
        if np.ndim(rows) != 1:
            raise InputError(
                f"`likes` must be a list of rows for each user, got {rows!r} for user {user}"
            )
        liked = np.zeros(len(self.catalogue), dtype=bool)
        liked[self.catalogue.candidates(rows)] = True
        liked &= self._start
        if not liked.any():
            raise InputError(
                f"`likes` must hold a candidate for each user, got none for user {user}"
            )
        return liked

    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:
        users = len(self._likes)
        user = options.get("user")
        if user is None:
            user = int(self.np_random.integers(users))
        elif user not in range(users):
            raise InputError(f"`user` must be from 0 to {users - 1}, got {user!r}")
        self._user, self._found = int(user), 0.0
        self.candidates = self._start.copy()
        return self._known()

    def _answer(self, items: IndexArray, there: MaskArray) -> tuple[FloatArray, dict[str, Any]]:  # noqa: ARG002
        clicks = self._likes[self._user][items].astype(np.float64)
        self.candidates[items] = False
        self._found += float(clicks.sum())
        return clicks, self._known()

    def _is_over(self) -> bool:
        return int(self.candidates.sum()) < self.k

    def _known(self) -> dict[str, Any]:
        return {
            "user": self._user,
            "recall": self._found / float(self._likes[self._user].sum()),
            "left": int(self.candidates.sum()),
        }
