"""What the page asks beside lists and feedback. It is the page's own, and changes with it."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from variegate.service.access import admin_router, client_router
from variegate.service.desk import Desk
from variegate.service.routes.answers import answered
from variegate.service.wire import UserId

PolicyName = Annotated[str, Query(min_length=1, max_length=64)]


def page_routes(desk: Desk) -> list[APIRouter]:
    """Return the routes of the page."""
    return [_client_routes(desk), _admin_routes(desk)]


def _client_routes(desk: Desk) -> APIRouter:
    router = client_router(tags=["page"])

    @router.get("/users/{user}/beside", include_in_schema=False)
    def beside(
        user: UserId,
        policy: PolicyName,
        slate: Annotated[str, Query(pattern=r"^[0-9A-Za-z_-]{1,64}$")],
    ) -> Response:
        """Return what another policy, taught by the same answers, would have shown."""
        return answered(desk.beside(user, slate, policy))

    @router.get("/policies", include_in_schema=False)
    def policies() -> Response:
        """Return the policies that can work on this catalogue."""
        return answered(desk.policies())

    @router.get("/map", include_in_schema=False)
    def map_() -> Response:
        """Return the items in two dimensions."""
        return answered(desk.map())

    @router.get("/watch", include_in_schema=False)
    def watch(
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        rounds: Annotated[int, Query(ge=1, le=1000)] = 300,
        policy: PolicyName | None = None,
    ) -> Response:
        """Let a policy learn what a simulated person wants."""
        return answered(desk.watch(policy, rounds, seed))

    return router


def _admin_routes(desk: Desk) -> APIRouter:
    router = admin_router(tags=["page"])

    @router.get("/overview", include_in_schema=False)
    def overview(
        request: Request, minutes: Annotated[int, Query(ge=1, le=7 * 24 * 60)] = 60
    ) -> Response:
        """Return what an operator wants to see of the last minutes."""
        slowest = request.app.state.metrics.slowest()
        return answered({**desk.overview(minutes), "slowest": slowest})

    return router
