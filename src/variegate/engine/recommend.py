"""Recommend a slate: candidates, choice, answer."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np

from variegate.arrays import FloatArray, IndexArray, MaskArray
from variegate.engine.catalogue import CatalogueSnapshot, plain_attributes
from variegate.engine.codecs import (
    SeenItems,
    hidden_rows,
    new_slate_id,
    pack_slate,
    unpack_slate,
)
from variegate.engine.feedback import displaced_ids, seen_without, withdraw
from variegate.engine.offers import (
    ItemOffer,
    check_own_items,
    check_scores,
    known_scores,
    own_items,
)
from variegate.engine.selection import Selection, select_items, unknown_ids, without_seen
from variegate.engine.terms import DAY, Rules, Terms, terms_of
from variegate.engine.unit_of_work import UnitOfWork
from variegate.errors import ConflictError, InputError, StateError, join_problems
from variegate.model.catalogue import Catalogue
from variegate.model.constraints import Constraints, attribute_problems
from variegate.model.gains import Normaliser, normalising_factors
from variegate.model.slate import Slate
from variegate.policies import Dial, Explanation, Policy, explore_slate
from variegate.store import SlateRow, UserRow


class RecommendRequest(NamedTuple):
    """A request for a slate.

    A named tuple, as `Feedback` is: between two processes it takes a tenth of the time that a
    frozen data class does.

    Parameters
    ----------
    k
        Items in the slate; the setting `k` by default.
    offer
        Scores of the candidates; for an open catalogue, all their data.
    where
        A condition on attributes; see `variegate.conditions`.
    constraints
        What the slate must meet. Pinned items are shown even if the user has seen them.
    strict
        Whether unknown ids in `candidates` and `exclude` are refused, instead of skipped.
    allow_repeats
        Whether items that the user has seen may be shown again.
    details
        Whether each item comes with its attributes.
    instead_of
        A slate of the user without feedback: it is withdrawn, and this one replaces it.
    idempotency_key
        The client's key for this request; repeated with the same key, it gets the same slate.
    """

    user: str
    k: int | None = None
    candidates: tuple[str, ...] | None = None
    offer: ItemOffer | None = None
    exclude: tuple[str, ...] = ()
    where: Mapping[str, Any] | None = None
    constraints: Constraints | None = None
    strict: bool = False
    dial: Dial | None = None
    explain: bool = False
    allow_repeats: bool = False
    details: bool = False
    instead_of: str | None = None
    idempotency_key: str | None = None

    @property
    def is_usual(self) -> bool:
        """Whether the request asks for nothing but a length, as most do."""
        return self[2:] == _USUAL

    def apply(self, uow: UnitOfWork) -> dict[str, Any]:
        """Choose a slate, store it, and return the answer."""
        if self.idempotency_key is not None:
            known = uow.slate_for_request(self.user, self.idempotency_key)
            if known is not None:
                return _repeated_answer(uow, self, known)
        policy = uow.policy(self.user)
        user = uow.user(self.user)
        seen, changed = SeenItems(user.shown), list[SlateRow]()
        if self.instead_of is not None:
            seen, changed = seen_without(uow, user.id, self.instead_of)
        choose = _choose_own if uow.snapshot.catalogue.is_open else _choose_known
        try:
            choice = choose(uow, self, policy, user, seen)
        except InputError:
            check_request(uow.snapshot, uow.rules, self)  # which has everything that is wrong
            raise
        slate = choice.slate
        terms = _terms(uow, self, choice)
        row = _new_row(uow, self, policy, choice, terms)
        why = policy.explain(slate, dial=self.dial) if self.explain else None
        shown = choice.seen.to_bytes()
        user = user._replace(shown=shown, slates=user.slates + 1, changed=uow.now)
        # A request with candidates has terms of any size, which are not kept in memory.
        is_small = self.candidates is None and not self.exclude
        uow.add_slate(user, row, slate if is_small else None)
        if self.instead_of is not None:
            uow.change_terms(changed)
            withdraw(uow, self.instead_of, row.id)
        return _answer(uow, self, row, terms, slate, why, choice.shown_before)


#: The options of a request that asks for nothing special
_USUAL: Final = RecommendRequest("")[2:]


class _Choice(NamedTuple):
    """A slate, and what is stored with it."""

    slate: Slate
    #: What the user has seen, with the slate
    seen: SeenItems
    shown_before: Sequence[bool]
    selection: Selection | None = None
    #: What the slate removed from the seen items
    displaced: tuple[tuple[str, int], ...] = ()
    propensities: FloatArray | None = None
    mix: float = 0.0


def _choose_known(
    uow: UnitOfWork, request: RecommendRequest, policy: Policy, user: UserRow, seen: SeenItems
) -> _Choice:
    """Choose from the items of the catalogue."""
    rules = uow.rules
    since = uow.now - rules.memory_days * DAY
    recent = seen.rows(since)
    hidden = hidden_rows(recent, SeenItems(user.consumed or b"").rows(since))
    selection = _select(uow.snapshot, rules, request)
    free, repeats, k = _candidates(uow, request, selection.allowed, recent, hidden)
    # With random items constraints might not be met, so there are none, and no propensities. Nor
    # with scores: they are not stored, and no evaluation could compute the list again.
    mix = rules.mix if request.constraints is None and request.offer is None else 0.0
    slate, propensities = _choose(policy, k, free, request, mix, _seeds(rules, user))
    # Most slates repeat nothing, and then no entry has to be searched for.
    are_new = repeats is None and len(recent) == len(seen)
    later, displaced = seen.add(slate.items, uow.now, rules.memory, are_new=are_new)
    return _Choice(
        slate,
        later,
        [False] * len(slate) if repeats is None else repeats[slate.items].tolist(),
        selection,
        displaced_ids(uow.snapshot, displaced, since),
        propensities,
        mix,
    )


def _choose_own(
    uow: UnitOfWork, request: RecommendRequest, policy: Policy, user: UserRow, seen: SeenItems
) -> _Choice:
    """Choose from the items that the request brings; what was shown before is not known."""
    offered = own_items(uow.snapshot.catalogue, request, uow.rules.max_candidates)
    k = min(_length(uow.rules, request), int(np.count_nonzero(offered.free)))
    slate = policy.recommend(
        k,
        offered,
        rng=_rng(policy, _seeds(uow.rules, user)),
        dial=request.dial,
        constraints=request.constraints,
    )
    return _Choice(slate, seen, [False] * k)


def pairwise_diversity(policy: Policy, slate: Slate) -> dict[str, float]:
    """Return the mean distance between two items of a slate, by the name of the distance."""
    k = len(slate)
    if k < 2:
        return {}
    # x is a scaled sum of distances to the items above; unscaled, the sums are over all pairs.
    means = normalising_weights(policy.normaliser, k).dot(slate.diversity).tolist()
    return {h.name: mean for h, mean in zip(policy.catalogue.distances, means, strict=True)}


@lru_cache(maxsize=256)
def normalising_weights(normaliser: Normaliser, k: int) -> FloatArray:
    """Return the weights, (k,), with which diversity gains sum to the mean over pairs."""
    return 1.0 / normalising_factors(normaliser, k) / (k * (k - 1) / 2)


def _candidates(
    uow: UnitOfWork,
    request: RecommendRequest,
    allowed: MaskArray,
    seen: IndexArray,
    hidden: IndexArray,
) -> tuple[MaskArray, MaskArray | None, int]:
    """Return the items to choose from, which of all items would be repeats, and how many to choose.

    The repeats are those `seen` in lists, None where none can be chosen; `hidden` has the items
    used outside lists too.
    """
    k = _length(uow.rules, request)
    free, has_repeats = allowed, request.allow_repeats
    if not request.allow_repeats:
        free, has_repeats = without_seen(allowed, hidden, k)
        if request.constraints is not None:
            pinned = _pinned_rows(uow, request.constraints, allowed)
            has_repeats |= bool(np.isin(pinned, seen).any())
            free[pinned] = True
    if not has_repeats:
        return free, None, k
    repeats = np.zeros_like(allowed)
    repeats[seen] = True
    return free, repeats, min(k, int(np.count_nonzero(free)))


def _pinned_rows(uow: UnitOfWork, constraints: Constraints, allowed: MaskArray) -> IndexArray:
    """Return the pinned items that are allowed: they are shown whether they were seen or not."""
    rows = uow.snapshot.catalogue.find_rows(constraints.pins.values())
    rows = rows[rows >= 0]
    return rows[allowed[rows]]


def check_request(
    snapshot: CatalogueSnapshot,
    rules: Rules,
    request: RecommendRequest,
    problems: Iterable[str] = (),
) -> None:
    """Raise InputError with all that is wrong with a request, whoever the user is.

    Parameters
    ----------
    problems
        Those that are known. What they are about is left out of the request.
    """
    found, catalogue = [*problems], snapshot.catalogue
    checks: list[Callable[[], object]] = [partial(_length, rules, request)]
    if not (found and catalogue.is_open and request.candidates is None):
        checks.append(partial(_check_items, snapshot, rules, request))
    for check in checks:
        try:
            check()
        except InputError as error:
            found.append(str(error))
    if request.constraints is not None and not catalogue.is_open:
        found += attribute_problems(catalogue.attribute_index, request.constraints)
    if found:
        raise InputError(join_problems(found))


def _check_items(snapshot: CatalogueSnapshot, rules: Rules, request: RecommendRequest) -> None:
    if not snapshot.catalogue.is_open:
        _select(snapshot, rules, request)
    else:
        check_own_items(snapshot.catalogue, request, rules.max_candidates)


def _select(snapshot: CatalogueSnapshot, rules: Rules, request: RecommendRequest) -> Selection:
    """Return what a request allows, or raise InputError."""
    if request.offer is not None:
        check_scores(snapshot.catalogue, request.offer)
    return select_items(snapshot, request, max_candidates=rules.max_candidates)


def _length(rules: Rules, request: RecommendRequest) -> int:
    k, max_k = rules.k if request.k is None else request.k, rules.max_k
    if not 1 <= k <= max_k:
        raise InputError(f"`k` must be from 1 to {max_k}, got {k}")
    return k


def _choose(
    policy: Policy,
    k: int,
    candidates: MaskArray,
    request: RecommendRequest,
    mix: float,
    seeds: tuple[int, ...],
) -> tuple[Slate, FloatArray | None]:
    if mix > 0.0:
        random = np.random.default_rng(seeds)
        return explore_slate(policy, k, mix, candidates=candidates, rng=random, dial=request.dial)
    rng, dial, constraints = _rng(policy, seeds), request.dial, request.constraints
    if request.offer is None or request.offer.scores is None:
        return policy.recommend(k, candidates, rng=rng, dial=dial, constraints=constraints), None
    known = known_scores(policy.catalogue, request.candidates or (), request.offer)
    rows = policy.catalogue.rows(known.ids)
    slate = policy.recommend(
        k, rows, ~candidates, rng, dial=dial, constraints=constraints, scores=known.scores
    )
    return slate, None


def _seeds(rules: Rules, user: UserRow) -> tuple[int, ...]:
    return rules.seed, crc32(user.id.encode()), user.slates


def _rng(policy: Policy, seeds: tuple[int, ...]) -> np.random.Generator | None:
    return np.random.default_rng(seeds) if policy.is_stochastic else None


def _new_row(
    uow: UnitOfWork, request: RecommendRequest, policy: Policy, choice: _Choice, terms: Terms
) -> SlateRow:
    slate, propensities, user = choice.slate, choice.propensities, uow.user(request.user)
    k, deadline = len(slate), uow.now + uow.rules.wait_seconds
    return SlateRow(
        id=new_slate_id(uow.now, uow.n_added),
        user_id=user.id,
        policy=user.policy,
        created=uow.now,
        deadline=deadline,
        closed=False,
        k=k,
        items=slate.ids,
        features=pack_slate(slate),
        propensities=None if propensities is None else propensities.tolist(),
        diversity=pairwise_diversity(policy, slate),
        rewards=[None] * k,
        taught=[False] * k,
        reports={},
        earned=0.0,
        answered=False,
        terms=uow.stored_terms if terms is uow.terms else terms.to_dict(),
        due=deadline if terms.closes else None,
        request=request.idempotency_key,
    )


def _terms(uow: UnitOfWork, request: RecommendRequest, choice: _Choice) -> Terms:
    selection, slate = choice.selection, choice.slate
    if request.is_usual and not (choice.mix or choice.displaced or slate.relaxed or slate.notes):
        return uow.terms
    values = {
        "mix": choice.mix,
        "dial": request.dial,
        "candidates": None if selection is None else selection.candidates,
        "exclude": () if selection is None else selection.exclude,
        "where": None if request.where is None else dict(request.where),
        "constraints": request.constraints,
        "relaxed": slate.relaxed,
        "notes": slate.notes,
        "allow_repeats": request.allow_repeats,
        "offered": uow.snapshot.catalogue.is_open or request.offer is not None,
        "displaced": choice.displaced,
        "asked": None if request.idempotency_key is None else _request_hash(request),
    }
    return uow.terms.with_values(values)


def _request_hash(request: RecommendRequest) -> str:
    """Return a hash of the options that are not at their defaults."""
    options = {
        name: value
        for name, value in request._asdict().items()
        if name not in ("user", "idempotency_key") and value != request._field_defaults[name]
    }
    text = json.dumps(options, sort_keys=True, default=_plain)
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    return blake2b(value, digest_size=16).hexdigest() if type(value) is bytes else asdict(value)


def _repeated_answer(uow: UnitOfWork, request: RecommendRequest, row: SlateRow) -> dict[str, Any]:
    """Return the answer of an earlier request with this key; explanations are new.

    Raises ConflictError where that request was another one.
    """
    terms = terms_of(row)
    if terms.asked != _request_hash(request):
        raise ConflictError(
            f"`Idempotency-Key` {request.idempotency_key!r} was used for another request of user "
            f"{row.user_id!r}: use a new key for each request"
        )
    # The items may have other rows by now, and some may be gone.
    catalogue = uow.snapshot.catalogue
    slate = replace(unpack_slate(row), items=catalogue.find_rows(row.items))
    why = None
    if request.explain and (catalogue.is_open or (slate.items >= 0).all()):
        # The user may have another policy by now, which cannot explain this slate.
        with suppress(InputError, StateError):
            why = uow.policy(row.user_id).explain(slate, dial=request.dial)
    repeated = {item for item, _second in terms.displaced}
    before = [item in repeated for item in row.items]
    return _answer(uow, request, row, terms, slate, why, before)


def _answer(
    uow: UnitOfWork,
    request: RecommendRequest,
    row: SlateRow,
    terms: Terms,
    slate: Slate,
    why: Explanation | None,
    shown_before: Sequence[bool],
) -> dict[str, Any]:
    catalogue = uow.snapshot.catalogue
    titles = catalogue.titles
    places = [-1] * len(slate) if catalogue.is_open else slate.items.tolist()
    items: list[dict[str, Any]] = [
        {
            "id": item,
            "title": titles[place] if place >= 0 else item,
            "score": score,
            "shown_before": before,
        }
        for item, place, score, before in zip(
            row.items, places, slate.scores.tolist(), shown_before, strict=True
        )
    ]
    if why is not None or request.details:
        _add_details(items, places, catalogue, request, why)
    answer: dict[str, Any] = {
        "slate_id": row.id,
        "user": row.user_id,
        "policy": row.policy,
        "items": items,
        "diversity": row.diversity,
    }
    if not catalogue.is_open and (unknown := unknown_ids(request, terms)):
        answer["unknown_ids"] = unknown
    if terms.relaxed:
        answer["relaxed"] = [one._asdict() for one in terms.relaxed]
    if terms.notes:
        answer["notes"] = list(terms.notes)
    return answer


def _add_details(
    items: list[dict[str, Any]],
    places: list[int],
    catalogue: Catalogue,
    request: RecommendRequest,
    why: Explanation | None,
) -> None:
    for at, (item, place) in enumerate(zip(items, places, strict=True)):
        if why is not None:
            item["explanation"] = _explanation(why, at)
        if request.details:
            item["attributes"] = _attributes(catalogue, request, item["id"], place)


def _attributes(
    catalogue: Catalogue, request: RecommendRequest, item: str, place: int
) -> dict[str, Any]:
    """Return the attributes of an item: those of the catalogue, or of the request."""
    if place >= 0:
        return plain_attributes(catalogue, place)
    if not catalogue.is_open or request.offer is None or request.candidates is None:
        return {}
    return request.offer.attributes_of(request.candidates.index(item))


def _explanation(why: Explanation, place: int) -> Mapping[str, Any]:
    """Return the parts of one item's score, by name."""
    parts = dict(zip(why.diversity_names, why.diversity[place].tolist(), strict=True))
    return {
        "relevance": float(why.relevance[place]),
        "diversity": parts,
        "exploration": float(why.exploration[place]),
    }
