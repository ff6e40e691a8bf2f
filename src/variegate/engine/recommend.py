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
from variegate.engine.catalogue import plain_attributes
from variegate.engine.codecs import SeenItems, new_slate_id, pack_slate, unpack_slate
from variegate.engine.feedback import displaced_ids, seen_without, withdraw
from variegate.engine.terms import DAY, Terms, terms_of
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError, InputError, StateError
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import Slate
from variegate.policies import Dial, Explanation, Policy, explore_slate
from variegate.store import SlateRow, UserRow


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """What a request for a list asks for; the settings' length if it does not say."""

    user: str
    k: int | None = None
    candidates: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    dial: Dial | None = None
    explain: bool = False
    #: Whether items that were shown before may be shown again
    allow_repeats: bool = False
    #: Whether each item comes with its attributes
    details: bool = False
    #: A list of the user's that nobody answered: it is taken back, this one is given for it
    instead_of: str | None = None
    #: The client's name for this request: asked again by this name, it gets the same list
    idempotency_key: str | None = None

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Give the list, and return the answer."""
        return give_list(uow, self)


def give_list(uow: UnitOfWork, request: RecommendRequest) -> dict[str, Any]:
    """Choose a list for a user, put it down, and return the answer.

    A request that the client named, and that was answered before, gets the list that it got.
    """
    known = (
        None
        if request.idempotency_key is None
        else uow.slate_for_request(request.user, request.idempotency_key)
    )
    if known is not None:
        return _given_before(uow, request, known)
    rules, policy = uow.rules, uow.policy(request.user)
    user = uow.user(request.user)
    shown, changed = _shown(uow, request, user)
    since = uow.now - rules.memory_days * DAY
    remembered = shown.rows(since)
    free, again, k = _free(uow, request, remembered)
    seeds = rules.seed, crc32(user.id.encode()), user.slates
    slate, propensities = _chosen(policy, k, free, request.dial, rules.mix, seeds)
    # Most often nothing comes again, and then there is nothing to look for.
    are_new = again is None and len(remembered) == len(shown)
    later, displaced = shown.add(slate.items, uow.now, rules.memory, are_new=are_new)
    terms = _terms(uow, request, displaced_ids(uow.snapshot, displaced, since))
    row = _new_row(uow, user, policy, slate, terms)
    row = row._replace(
        propensities=None if propensities is None else propensities.tolist(),
        request=request.idempotency_key,
    )
    why = policy.explain(slate, dial=request.dial) if request.explain else None
    uow.give(user._replace(shown=later.to_bytes(), slates=user.slates + 1, changed=uow.now), row)
    if request.instead_of is not None:
        uow.change_terms(changed)
        withdraw(uow, request.instead_of, row.id)
    before = [False] * len(slate) if again is None else again[slate.items].tolist()
    return _answer(uow, request, row, slate, why, before)


def _given_before(uow: UnitOfWork, request: RecommendRequest, row: SlateRow) -> dict[str, Any]:
    """Return the answer that a request got before; reasons are by what is known by now."""
    terms = terms_of(row)
    if terms.asked != _hash_of(request):
        raise ConflictError(
            f"`Idempotency-Key` {request.idempotency_key!r} named another request of user "
            f"{row.user_id!r} before: give each request a key of its own"
        )
    slate = unpack_slate(row)
    # The catalogue may have other rows by now, and may no longer have an item.
    slate = replace(slate, items=uow.snapshot.catalogue.rows_or_none(row.items))
    why = None
    if request.explain and (slate.items >= 0).all():
        # The policy that gave the list may no longer be served, and another may not know it.
        with suppress(InputError, StateError):
            why = uow.policy(row.user_id).explain(slate, dial=request.dial)
    repeated = {item for item, _second in terms.displaced}
    before = [item in repeated for item in row.items]
    return _answer(uow, request, row, slate, why, before)


def _hash_of(request: RecommendRequest) -> str:
    """Return what tells two requests of one name apart; what is as by default does not count."""
    asked = {
        field.name: value
        for field in fields(request)
        if field.name not in ("user", "idempotency_key")
        and (value := getattr(request, field.name)) != field.default
    }
    text = json.dumps(asked, sort_keys=True, default=asdict)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _new_row(
    uow: UnitOfWork, user: UserRow, policy: Policy, slate: Slate, terms: Terms
) -> SlateRow:
    k, deadline = len(slate), uow.now + uow.rules.wait_seconds
    return SlateRow(
        id=new_slate_id(uow.now, uow.given),
        user_id=user.id,
        policy=user.policy,
        created=uow.now,
        deadline=deadline,
        closed=False,
        k=k,
        items=slate.ids,
        features=pack_slate(slate),
        propensities=None,
        diversity=pairwise_diversity(policy, slate),
        rewards=[None] * k,
        taught=[False] * k,
        reports={},
        earned=0.0,
        answered=False,
        terms=terms.to_dict(),
        due=deadline if terms.closes else None,
        request=None,
    )


def _terms(
    uow: UnitOfWork, request: RecommendRequest, displaced: tuple[tuple[str, int], ...]
) -> Terms:
    rules = uow.rules
    return Terms(
        revision=uow.snapshot.revision,
        aggregation=rules.aggregation,
        default_reward=rules.default_reward,
        late=rules.late,
        mix=rules.mix,
        dial=request.dial,
        candidates=request.candidates,
        exclude=request.exclude,
        allow_repeats=request.allow_repeats,
        memory=rules.memory,
        memory_days=rules.memory_days,
        displaced=displaced,
        asked=None if request.idempotency_key is None else _hash_of(request),
    )


def _shown(
    uow: UnitOfWork, request: RecommendRequest, user: UserRow
) -> tuple[SeenItems, list[SlateRow]]:
    if request.instead_of is None:
        return SeenItems(user.shown), []
    return seen_without(uow, user.id, request.instead_of)


def pairwise_diversity(policy: Policy, slate: Slate) -> dict[str, float]:
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


def _length(uow: UnitOfWork, request: RecommendRequest) -> int:
    k, most = uow.rules.k if request.k is None else request.k, uow.rules.max_k
    if not 1 <= k <= most:
        raise InputError(f"`k` must be from 1 to {most}, got {k}")
    return k


def _free(
    uow: UnitOfWork, request: RecommendRequest, remembered: IndexArray
) -> tuple[MaskArray, MaskArray | None, int]:
    """Return the items to choose from, which were shown before if any may have been, and how many.

    Where fewer are left than were asked for, those shown longest ago come back.
    """
    allowed, k = _allowed(uow, request), _length(uow, request)
    if not request.allow_repeats:
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


def _allowed(uow: UnitOfWork, request: RecommendRequest) -> MaskArray:
    """Return the items that the wish lets through, whatever was shown before; for reading only."""
    snapshot, most = uow.snapshot, uow.rules.max_candidates
    if request.candidates is None and not request.exclude:
        return snapshot.active
    _check_many("candidates", request.candidates, most)
    _check_many("exclude", request.exclude, most)
    free = snapshot.active.copy()
    if request.candidates is not None:
        among = np.zeros_like(free)
        among[snapshot.rows("candidates", request.candidates)] = True
        free &= among
    if request.exclude:
        free[snapshot.rows("exclude", request.exclude)] = False
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
    rng = np.random.default_rng(seeds) if policy.is_stochastic or mix > 0.0 else None
    if mix > 0.0:
        return explore_slate(policy, k, mix, candidates=free, rng=rng, dial=dial)
    return policy.recommend(k, candidates=free, rng=rng, dial=dial), None


def _answer(
    uow: UnitOfWork,
    request: RecommendRequest,
    row: SlateRow,
    slate: Slate,
    why: Explanation | None,
    before: Sequence[bool],
) -> dict[str, Any]:
    catalogue = uow.snapshot.catalogue
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
        if request.details:
            item["attributes"] = plain_attributes(catalogue, place) if place >= 0 else {}
    return {
        "slate_id": row.id,
        "user": row.user_id,
        "policy": row.policy,
        "items": items,
        "diversity": row.diversity,
    }


def explained(why: Explanation, place: int) -> Mapping[str, Any]:
    """Return the parts of one item's score, by name."""
    parts = dict(zip(why.diversity_names, why.diversity[place].tolist(), strict=True))
    return {
        "relevance": float(why.relevance[place]),
        "diversity": parts,
        "exploration": float(why.exploration[place]),
    }
