"""Giving a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.errors import InputError
from variegate.gains import normalising_factors
from variegate.policies import Dial, Explanation, Policy, mixed_slate
from variegate.service.desk.ledger import Ledger
from variegate.service.desk.packing import new_slate_id, packed_slate
from variegate.service.desk.rules import DAY
from variegate.service.desk.shown import Shown
from variegate.slate import Slate
from variegate.store import SlateRow


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request for a list asks for; the settings' length if it does not say."""

    user: str
    k: int | None = None
    candidates: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    dial: Dial | None = None
    explain: bool = False
    #: Whether items that were shown before may be shown again
    show_again: bool = False

    def apply(self, ledger: Ledger) -> dict[str, Any]:
        """Give the list, and return the answer."""
        return give_list(ledger, self)


def give_list(ledger: Ledger, wish: Wish) -> dict[str, Any]:
    """Choose a list for a user, put it down, and return the answer."""
    rules, policy = ledger.rules, ledger.policy(wish.user)
    user = ledger.user(wish.user)
    shown = Shown(user.shown)
    remembered = shown.rows(ledger.now - rules.memory_days * DAY)
    free, again = _free(ledger, wish, remembered)
    k = min(_length(ledger, wish), int(np.count_nonzero(free)))
    seeds = rules.seed, crc32(user.id.encode()), user.slates
    slate, propensities = _chosen(policy, k, free, wish.dial, rules.mix, seeds)
    row = SlateRow(
        id=new_slate_id(ledger.now),
        user_id=user.id,
        policy=user.policy,
        created=ledger.now,
        deadline=ledger.now + rules.wait_seconds,
        closed=False,
        k=k,
        items=slate.ids,
        features=packed_slate(slate),
        propensities=None if propensities is None else propensities.tolist(),
        spread=spread_of(policy, slate),
        rewards=[None] * k,
        taught=[False] * k,
        reports={},
        earned=0.0,
        answered=False,
    )
    why = policy.explain(slate, dial=wish.dial) if wish.explain else None
    later = shown.with_list(slate.items, ledger.now, rules.memory)
    ledger.give(
        user._replace(shown=later.to_bytes(), slates=user.slates + 1, changed=ledger.now), row
    )
    return _answer(ledger, row, slate, why, again)


def spread_of(policy: Policy, slate: Slate) -> dict[str, float]:
    """Return the mean distance of the list's pairs, for each distance."""
    k = len(slate)
    if k < 2:
        return {}
    # x is a scaled sum of distances to the items above: taken back, the sums are of all pairs.
    sums = slate.diversity / normalising_factors(policy.normaliser, k)[:, None]
    means = sums.sum(axis=0) / (k * (k - 1) / 2)
    names = [h.name for h in policy.catalogue.distances]
    return dict(zip(names, means.tolist(), strict=True))


def _length(ledger: Ledger, wish: Wish) -> int:
    k, most = ledger.rules.k if wish.k is None else wish.k, ledger.rules.max_k
    if not 1 <= k <= most:
        raise InputError(f"`k` must be from 1 to {most}, got {k}")
    return k


def _free(ledger: Ledger, wish: Wish, remembered: IndexArray) -> tuple[MaskArray, MaskArray]:
    """Return the items to choose from, and which of them were shown before.

    Where fewer are left than were asked for, those shown longest ago come back.
    """
    stock = ledger.stock
    _check_many("candidates", wish.candidates, ledger.rules.max_candidates)
    _check_many("exclude", wish.exclude, ledger.rules.max_candidates)
    free = stock.open.copy()
    if wish.candidates is not None:
        among = np.zeros_like(free)
        among[stock.rows("candidates", wish.candidates)] = True
        free &= among
    if wish.exclude:
        free[stock.rows("exclude", wish.exclude)] = False
    if not free.any():
        raise InputError("`candidates` less `exclude` must leave an item that is not retired")
    again = np.zeros_like(free)
    again[remembered] = True
    if wish.show_again:
        return free, again
    fresh = free & ~again
    missing = _length(ledger, wish) - int(np.count_nonzero(fresh))
    if missing > 0:
        back = [row for row in remembered.tolist() if free[row]]
        fresh[back[:missing]] = True
    return fresh, again


def _check_many(name: str, ids: tuple[str, ...] | None, most: int) -> None:
    if ids is not None and len(ids) > most:
        raise InputError(f"`{name}` must be at most {most} ids, got {len(ids)}")


def _chosen(
    policy: Policy,
    k: int,
    free: MaskArray,
    dial: Dial | None,
    mix: float,
    seeds: tuple[int, ...],
) -> tuple[Slate, FloatArray | None]:
    rng = np.random.default_rng(seeds) if policy.draws or mix > 0.0 else None
    if mix > 0.0:
        return mixed_slate(policy, k, mix, candidates=free, rng=rng, dial=dial)
    return policy.recommend(k, candidates=free, rng=rng, dial=dial), None


def _answer(
    ledger: Ledger, row: SlateRow, slate: Slate, why: Explanation | None, again: MaskArray
) -> dict[str, Any]:
    titles = ledger.stock.catalogue.titles
    items: list[dict[str, Any]] = [
        {"id": item, "title": titles[place], "score": score, "shown_before": seen}
        for item, place, score, seen in zip(
            slate.ids,
            slate.items.tolist(),
            slate.scores.tolist(),
            again[slate.items].tolist(),
            strict=True,
        )
    ]
    if why is not None:
        for place, item in enumerate(items):
            item["explanation"] = explained(why, place)
    return {"slate_id": row.id, "user": row.user_id, "policy": row.policy, "items": items}


def explained(why: Explanation, place: int) -> Mapping[str, Any]:
    """Return the parts of one item's score, by name."""
    parts = dict(zip(why.diversity_names, why.diversity[place].tolist(), strict=True))
    return {
        "relevance": float(why.relevance[place]),
        "diversity": parts,
        "exploration": float(why.exploration[place]),
    }
