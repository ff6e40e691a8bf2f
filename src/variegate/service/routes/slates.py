"""Slates and feedback: the service's main routes."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Response
from starlette.concurrency import run_in_threadpool

from variegate.engine import Engine, Feedback, RecommendRequest
from variegate.errors import InputError
from variegate.model.constraints import AtLeast, Constraints
from variegate.policies import Dial
from variegate.schemas import (
    FeedbackRequest,
    FeedbackResult,
    Id,
    Slate,
    SlateId,
    SlateRequest,
)
from variegate.service.candidates import candidate_ids, offer_of
from variegate.service.responses import json_response, returns
from variegate.service.routing import fast_router

_DEFAULTS = SlateRequest.model_validate({})

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="Identifies this request of this user: the same key again returns the same "
        "answer.",
    ),
]


def slate_router(engine: Engine) -> APIRouter:
    """Return the routes for slates and feedback."""
    router = fast_router(tags=["slates"])

    @router.post("/users/{user}/slates", **returns(Slate, "The slate.", 201))
    async def recommend(
        user: Id,
        body: Annotated[SlateRequest | None, Body()] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        """Recommend a slate of items to a user, who need not exist yet."""
        request = await checked_request(engine, user, body or _DEFAULTS, idempotency_key)
        return json_response(await engine.recommend(request), 201)

    @router.post("/slates/{slate}/feedback", **returns(FeedbackResult, "The result."))
    async def feedback(slate: SlateId, body: FeedbackRequest) -> Response:
        """Learn from a user's feedback on a slate. The same report again changes nothing."""
        seen = None if body.seen is None else tuple(body.seen)
        return json_response(await engine.feedback(Feedback(slate, body.rewards, seen, body.event)))

    return router


async def checked_request(
    engine: Engine, user: str, body: SlateRequest, idempotency_key: str | None = None
) -> RecommendRequest:
    """Return the engine's command for a request, or raise InputError with all that is wrong."""
    candidates, problems = body.candidates, list[str]()
    offer, dial = None, None
    try:
        offer = offer_of(candidates)
    except InputError as error:
        problems.append(str(error))
        candidates = None
    try:
        dial = _dial(body)
    except InputError as error:
        problems.append(str(error))
    request = RecommendRequest(
        user=user,
        k=body.k,
        candidates=candidate_ids(candidates),
        offer=offer,
        exclude=tuple(body.exclude),
        where=body.where,
        constraints=_constraints(body),
        strict=body.strict,
        dial=dial,
        explain=body.explain,
        allow_repeats=body.allow_repeats,
        details=body.details,
        instead_of=body.instead_of,
        idempotency_key=idempotency_key,
    )
    if problems:
        await run_in_threadpool(engine.check_request, request, problems)
    return request


def _dial(body: SlateRequest) -> Dial | None:
    one = body.diversity
    return None if one is None else Dial(one.scale, one.floor, one.ceiling)


def _constraints(body: SlateRequest) -> Constraints | None:
    asked = body.constraints
    if asked is None:
        return None
    return Constraints(
        asked.at_most,
        tuple(AtLeast(one.where, one.n) for one in asked.at_least),
        {int(position): item for position, item in asked.pins.items()},
        asked.relax,
    )
