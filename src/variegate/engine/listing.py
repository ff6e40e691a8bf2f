"""Giving a list."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from operator import mul
from typing import Any
from zlib import crc32

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.engine.itemdata import plain_attributes
from variegate.engine.ledger import Ledger
from variegate.engine.packing import new_slate_id, packed_slate, unpacked_slate
from variegate.engine.rules import DAY
from variegate.engine.shown import Shown
from variegate.engine.terms import Terms, terms_of
from variegate.engine.withdrawing import displaced_ids, shown_without, withdraw
from variegate.errors import ConflictError, InputError, StateError
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import Slate
from variegate.policies import Dial, Explanation, Policy, mixed_slate
from variegate.store import SlateRow, UserRow


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
    #: Whether each item comes with its attributes
    details: bool = False
    #: A list of the user's that nobody answered: it is taken back, this one is given for it
    instead_of: str | None = None
    #: The client's name for this request: asked again by this name, it gets the same list
    request: str | None = None

    def apply(self, ledger: Ledger) -> dict[str, Any]:
        """Give the list, and return the answer."""
        return give_list(ledger, self)


def give_list(ledger: Ledger, wish: Wish) -> dict[str, Any]:
    """Choose a list for a user, put it down, and return the answer.

    A request that the client named, and that was answered before, gets the list that it got.
    """
    known = None if wish.request is None else ledger.requested(wish.user, wish.request)
    if known is not None:
        return _given_before(ledger, wish, known)
    rules, policy = ledger.rules, ledger.policy(wish.user)
    user = ledger.user(wish.user)
    shown, changed = _shown(ledger, wish, user)
    since = ledger.now - rules.memory_days * DAY
    remembered = shown.rows(since)
    free, again, k = _free(ledger, wish, remembered)
    seeds = rules.seed, crc32(user.id.encode()), user.slates
    slate, propensities = _chosen(policy, k, free, wish.dial, rules.mix, seeds)
    # Most often nothing comes again, and then there is nothing to look for.
    are_new = again is None and len(remembered) == len(shown)
    later, displaced = shown.after(slate.items, ledger.now, rules.memory, are_new=are_new)
    terms = _terms(ledger, wish, displaced_ids(ledger.stock, displaced, since))
    row = _new_row(ledger, user, policy, slate, terms)
    row = row._replace(
        propensities=None if propensities is None else propensities.tolist(), request=wish.request
    )
    why = policy.explain(slate, dial=wish.dial) if wish.explain else None
    ledger.give(
        user._replace(shown=later.to_bytes(), slates=user.slates + 1, changed=ledger.now), row
    )
    if wish.instead_of is not None:
        ledger.change_terms(changed)
        withdraw(ledger, wish.instead_of, row.id)
    before = [False] * len(slate) if again is None else again[slate.items].tolist()
    return _answer(ledger, wish, row, slate, why, before)


def _given_before(ledger: Ledger, wish: Wish, row: SlateRow) -> dict[str, Any]:
    """Return the answer that a request got before; reasons are by what is known by now."""
    terms = terms_of(row)
    if terms.asked != _hash_of(wish):
        raise ConflictError(
            f"`Idempotency-Key` {wish.request!r} named another request of user {row.user_id!r} "
            "before: give each request a key of its own"
        )
    slate = unpacked_slate(row)
    # The catalogue may have other rows by now, and may no longer have an item.
    slate = replace(slate, items=ledger.stock.catalogue.rows_or_none(row.items))
    why = None
    if wish.explain and (slate.items >= 0).all():
        # The policy that gave the list may no longer be served, and another may not know it.
        with suppress(InputError, StateError):
            why = ledger.policy(row.user_id).explain(slate, dial=wish.dial)
    repeated = {item for item, _second in terms.displaced}
    before = [item in repeated for item in row.items]
    return _answer(ledger, wish, row, slate, why, before)


def _hash_of(wish: Wish) -> str:
    """Return what tells two requests of one name apart; what is as by default does not count."""
    asked = {
        field.name: value
        for field in fields(wish)
        if field.name not in ("user", "request")
        and (value := getattr(wish, field.name)) != field.default
    }
    text = json.dumps(asked, sort_keys=True, default=asdict)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _new_row(ledger: Ledger, user: UserRow, policy: Policy, slate: Slate, terms: Terms) -> SlateRow:
    k, deadline = len(slate), ledger.now + ledger.rules.wait_seconds
    return SlateRow(
        id=new_slate_id(ledger.now, ledger.given),
        user_id=user.id,
        policy=user.policy,
        created=ledger.now,
        deadline=deadline,
        closed=False,
        k=k,
        items=slate.ids,
        features=packed_slate(slate),
        propensities=None,
        spread=spread_of(policy, slate),
        rewards=[None] * k,
        taught=[False] * k,
        reports={},
        earned=0.0,
        answered=False,
        terms=terms.to_dict(),
        due=deadline if terms.closes else None,
        request=None,
    )


def _terms(ledger: Ledger, wish: Wish, displaced: tuple[tuple[str, int], ...]) -> Terms:
    rules = ledger.rules
    return Terms(
        revision=ledger.stock.revision,
        aggregation=rules.aggregation,
        default_reward=rules.default_reward,
        late=rules.late,
        mix=rules.mix,
        dial=wish.dial,
        candidates=wish.candidates,
        exclude=wish.exclude,
        allow_repeats=wish.show_again,
        memory=rules.memory,
        memory_days=rules.memory_days,
        displaced=displaced,
        asked=None if wish.request is None else _hash_of(wish),
    )


def _shown(ledger: Ledger, wish: Wish, user: UserRow) -> tuple[Shown, list[SlateRow]]:
    if wish.instead_of is None:
        return Shown(user.shown), []
    return shown_without(ledger, user.id, wish.instead_of)


def spread_of(policy: Policy, slate: Slate) -> dict[str, float]:
    """Return the mean distance of the list's pairs, for each distance."""
    k = len(slate)
    if k < 2:
        return {}
    # x is a scaled sum of distances to the items above: taken back, the sums are of all pairs.
    weights = _weights(policy.normaliser, k)
    columns = slate.diversity.T.tolist()  # of so few, quicker than NumPy
    return {
        h.name: sum(map(mul, weights, column))
        for h, column in zip(policy.catalogue.distances, columns, strict=True)
    }


@lru_cache(maxsize=256)
def normalising_weights(normaliser: Normaliser, k: int) -> FloatArray:
    """Return what the gains of each position are multiplied by, (k,), for their pairs' mean."""
    return 1.0 / normalising_factors(normaliser, k) / (k * (k - 1) / 2)


@lru_cache(maxsize=256)
def _weights(normaliser: Normaliser, k: int) -> list[float]:
    weights: list[float] = normalising_weights(normaliser, k).tolist()
    return weights


def _length(ledger: Ledger, wish: Wish) -> int:
    k, most = ledger.rules.k if wish.k is None else wish.k, ledger.rules.max_k
    if not 1 <= k <= most:
        raise InputError(f"`k` must be from 1 to {most}, got {k}")
    return k


def _free(
    ledger: Ledger, wish: Wish, remembered: IndexArray
) -> tuple[MaskArray, MaskArray | None, int]:
    """Return the items to choose from, which were shown before if any may have been, and how many.

    Where fewer are left than were asked for, those shown longest ago come back.
    """
    allowed, k = _allowed(ledger, wish), _length(ledger, wish)
    if not wish.show_again:
        fresh = allowed.copy()
        fresh[remembered] = False
        missing = k - int(np.count_nonzero(fresh))
        if missing <= 0:
            return fresh, None, k
        back = [row for row in remembered.tolist() if allowed[row]]
        fresh[back[:missing]] = True
        allowed = fresh
    again = np.zeros_like(allowed)
    again[remembered] = True
    return allowed, again, min(k, int(np.count_nonzero(allowed)))


def _allowed(ledger: Ledger, wish: Wish) -> MaskArray:
    """Return the items that the wish lets through, whatever was shown before; for reading only."""
    stock, most = ledger.stock, ledger.rules.max_candidates
    if wish.candidates is None and not wish.exclude:
        return stock.open
    _check_many("candidates", wish.candidates, most)
    _check_many("exclude", wish.exclude, most)
    free = stock.open.copy()
    if wish.candidates is not None:
        among = np.zeros_like(free)
        among[stock.rows("candidates", wish.candidates)] = True
        free &= among
    if wish.exclude:
        free[stock.rows("exclude", wish.exclude)] = False
    if not free.any():
        raise InputError("`candidates` less `exclude` must leave an item that is not retired")
    return free


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
    ledger: Ledger,
    wish: Wish,
    row: SlateRow,
    slate: Slate,
    why: Explanation | None,
    before: Sequence[bool],
) -> dict[str, Any]:
    catalogue = ledger.stock.catalogue
    places = slate.items.tolist()
    titles = [catalogue.titles[at] if at >= 0 else row.items[n] for n, at in enumerate(places)]
    items: list[dict[str, Any]] = [
        {"id": item, "title": title, "score": score, "shown_before": seen}
        for item, title, score, seen in zip(
            slate.ids, titles, slate.scores.tolist(), before, strict=True
        )
    ]
    for at, (item, place) in enumerate(zip(items, places, strict=True)):
        if why is not None:
            item["explanation"] = explained(why, at)
        if wish.details:
            item["attributes"] = plain_attributes(catalogue, place) if place >= 0 else {}
    return {
        "slate_id": row.id,
        "user": row.user_id,
        "policy": row.policy,
        "items": items,
        "spread": row.spread,
    }


def explained(why: Explanation, place: int) -> Mapping[str, Any]:
    """Return the parts of one item's score, by name."""
    parts = dict(zip(why.diversity_names, why.diversity[place].tolist(), strict=True))
    return {
        "relevance": float(why.relevance[place]),
        "diversity": parts,
        "exploration": float(why.exploration[place]),
    }
