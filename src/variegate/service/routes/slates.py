"""Lists and feedback: what the service is for."""

from typing import Annotated

from fastapi import APIRouter, Body, Header, Response

from variegate.engine import Engine, Feedback, RecommendRequest
from variegate.policies import Dial
from variegate.schemas import (
    Diversity,
    FeedbackRequest,
    FeedbackResult,
    Id,
    Slate,
    SlateId,
    SlateRequest,
)
from variegate.service.responses import answer_of, answered
from variegate.service.routing import lean_router

_NOTHING_SAID = SlateRequest.model_validate({})

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="Names this request of this user, so that it gets one list however often it is "
        "sent.",
    ),
]


def slate_routes(engine: Engine) -> list[APIRouter]:
    """Return the routes that give lists and take feedback."""
    router = lean_router(tags=["lists"])

    @router.post(
        "/users/{user}/slates",
        response_class=Response,
        status_code=201,
        responses=answer_of(Slate, "The list.", 201),
    )
    async def recommend(
        user: Id,
        body: Annotated[SlateRequest | None, Body()] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> Response:
        """Give a user a list of items; a user need not be known before."""
        request = wish_of(user, body or _NOTHING_SAID, idempotency_key)
        return answered(await engine.recommend(request), 201)

    @router.post(
        "/slates/{slate}/feedback",
        response_class=Response,
        responses=answer_of(FeedbackResult, "What became of it."),
    )
    async def feedback(slate: SlateId, body: FeedbackRequest) -> Response:
        """Learn what the user made of a list. Sent again, it changes nothing."""
        seen = None if body.seen is None else tuple(body.seen)
        return answered(await engine.feedback(Feedback(slate, body.rewards, seen, body.event)))

    return [router]


def wish_of(user: str, body: SlateRequest, request: str | None = None) -> RecommendRequest:
    """Return what a body asks for."""
    return RecommendRequest(
        user=user,
        k=body.k,
        candidates=None if body.candidates is None else tuple(body.candidates),
        exclude=tuple(body.exclude),
        dial=None if body.diversity is None else dial_of(body.diversity),
        explain=body.explain,
        allow_repeats=body.allow_repeats,
        details=body.details,
        instead_of=body.instead_of,
        idempotency_key=request,
    )


def dial_of(body: Diversity) -> Dial:
    """Return the dial that a body turns."""
    return Dial(body.scale, body.floor, body.ceiling)
