"""Slates and feedback: the service's main routes."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Response

from variegate.engine import Engine, Feedback, RecommendRequest
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
        request = recommend_request(user, body or _DEFAULTS, idempotency_key)
        return json_response(await engine.recommend(request), 201)

    @router.post("/slates/{slate}/feedback", **returns(FeedbackResult, "The result."))
    async def feedback(slate: SlateId, body: FeedbackRequest) -> Response:
        """Learn from a user's feedback on a slate. The same report again changes nothing."""
        seen = None if body.seen is None else tuple(body.seen)
        return json_response(await engine.feedback(Feedback(slate, body.rewards, seen, body.event)))

    return router


def recommend_request(
    user: str, body: SlateRequest, idempotency_key: str | None = None
) -> RecommendRequest:
    """Return the engine's command for a request."""
    diversity = body.diversity
    return RecommendRequest(
        user=user,
        k=body.k,
        candidates=candidate_ids(body.candidates),
        offer=offer_of(body.candidates),
        exclude=tuple(body.exclude),
        where=body.where,
        constraints=_constraints(body),
        strict=body.strict,
        dial=None
        if diversity is None
        else Dial(diversity.scale, diversity.floor, diversity.ceiling),
        explain=body.explain,
        allow_repeats=body.allow_repeats,
        details=body.details,
        instead_of=body.instead_of,
        idempotency_key=idempotency_key,
    )


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
