"""What the page asks beside lists and feedback. It is the page's own, and changes with it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from variegate.engine import Engine
from variegate.service.metrics import Metrics
from variegate.service.responses import SmallPool, worked_out
from variegate.service.routing import admin_router, client_router
from variegate.service.schemas import UserId

PolicyName = Annotated[str, Query(min_length=1, max_length=64)]


def page_routes(engine: Engine, pool: SmallPool) -> list[APIRouter]:
    """Return the routes of the page."""
    return [_client_routes(engine, pool), _admin_routes(engine, pool)]


def _client_routes(engine: Engine, pool: SmallPool) -> APIRouter:
    router = client_router(tags=["page"])

    @router.get("/users/{user}/beside", include_in_schema=False)
    async def beside(
        request: Request,
        user: UserId,
        policy: PolicyName,
        slate: Annotated[str, Query(pattern=r"^[0-9A-Za-z_-]{1,64}$")],
    ) -> Response:
        """Return what another policy, taught by the same answers, would have shown."""
        asked = (user, slate, policy)
        return await worked_out(pool, request, ("beside", asked), lambda: engine.beside(*asked))

    @router.get("/policies", include_in_schema=False)
    async def policies(request: Request) -> Response:
        """Return the policies that can work on this catalogue."""
        return await worked_out(pool, request, "policies", engine.policies)

    @router.get("/map", include_in_schema=False)
    async def map_(request: Request) -> Response:
        """Return the items in two dimensions."""
        return await worked_out(pool, request, "map", engine.map)

    @router.get("/watch", include_in_schema=False)
    async def watch(
        request: Request,
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        rounds: Annotated[int, Query(ge=1, le=1000)] = 300,
        policy: PolicyName | None = None,
    ) -> Response:
        """Let a policy learn what a simulated person wants."""
        asked = (policy, rounds, seed)
        return await worked_out(pool, request, ("watch", asked), lambda: engine.watch(*asked))

    return router


def _admin_routes(engine: Engine, pool: SmallPool) -> APIRouter:
    router = admin_router(tags=["page"])

    @router.get("/overview", include_in_schema=False)
    async def overview(
        request: Request, minutes: Annotated[int, Query(ge=1, le=7 * 24 * 60)] = 60
    ) -> Response:
        """Return what an operator wants to see of the last minutes."""
        metrics: Metrics = request.app.state.metrics

        def work() -> dict[str, Any]:
            return {**engine.overview(minutes), "slowest": metrics.slowest()}

        return await worked_out(pool, request, ("overview", minutes), work)

    return router
