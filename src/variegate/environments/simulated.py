"""`variegate/Simulated-v0`: a user whose preferences the environment knows."""

from collections.abc import Mapping
from math import comb, perm
from typing import Any, Final

from variegate.arrays import FloatArray, IndexArray, MaskArray, check_count
from variegate.environments.lists import ListEnvironment, largest_feature
from variegate.evaluation.simulation import draw_taste
from variegate.model.search import exhaustive, greedy
from variegate.model.utility import Utility
from variegate.users import clicks

#: The best list is looked for among all lists, up to so many of them.
MOST_LISTS: Final = 50_000

#: No drawn feature is larger.
LARGEST_DRAWN: Final = 0.5


class SimulatedEnvironment(ListEnvironment):
    """A user who clicks as the paper's model says (Eq. 10), drawn anew for each episode.

    Items stay: the same list can be shown again. Users and their luck come from the seed
    alone, whatever is shown, so agents given the same seed meet the same user and the same
    coins.

    After a step, `info` holds the ``clicks``; the list's ``value`` F(A | eta), of which the
    reward is a draw; and its ``regret``, how far that is below ``best_value``. Where
    ``best_is_exact`` is false there are too many lists to look at all, the greedy list with
    the true preferences stands in for the best, and a regret below 0 can happen.

    Parameters
    ----------
    items, features
        L and d of drawn items; the paper has 20 and 10.
    k
        Items in a list.
    rounds
        Lists after which an episode is truncated.
    utility
        Items and a user of one's own, the same in every episode, in place of drawn ones.
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
        largest = LARGEST_DRAWN if utility is None else largest_feature(utility.catalogue)
        super().__init__(items, features, largest, k=k, rounds=rounds)
        #: What this episode's user wants
        self.utility: Utility

    def _begin(self, options: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        given = self._given
        self.utility = self._drawn() if given is None else given
        self.catalogue = self.utility.catalogue
        # Under `growing` the value of a list depends on its order.
        ordered = self.utility.normaliser == "growing"
        lists = (perm if ordered else comb)(len(self.catalogue), self.k)
        scorer = self.utility.scorer(self.catalogue.candidates(), self.k)
        self._best_is_exact = lists <= MOST_LISTS
        _places, gains = (
            exhaustive(scorer, self.k, ordered=ordered)
            if self._best_is_exact
            else greedy(scorer, self.k)
        )
        self._best_value = float(gains.sum())
        return self._known()

    def _drawn(self) -> Utility:
        items, features = self._size
        return draw_taste(self.np_random, items=items, features=features)

    def _answer(self, items: IndexArray, there: MaskArray) -> tuple[FloatArray, dict[str, Any]]:
        # A coin for every position, filled or not, so that luck does not hang on the action.
        uniforms = self.np_random.random(self.k)
        gains = self.utility.gains(items)
        value = float(gains.sum())
        info = {"value": value, "regret": self._best_value - value, **self._known()}
        return clicks(gains, uniforms[there]), info

    def _known(self) -> dict[str, Any]:
        return {"best_value": self._best_value, "best_is_exact": self._best_is_exact}
