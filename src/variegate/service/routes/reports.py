"""What an operator asks."""

from fastapi import APIRouter, Request, Response

from variegate.engine import Engine
from variegate.service.access import admin_router
from variegate.service.routes.answers import answer_of, worked_out
from variegate.service.small_pool import SmallPool
from variegate.service.wire import ReportAnswer


def report_routes(engine: Engine, pool: SmallPool) -> list[APIRouter]:
    """Return the routes that are about how it goes."""
    router = admin_router(tags=["operation"])

    @router.get(
        "/report",
        response_class=Response,
        responses=answer_of(ReportAnswer, "The policies side by side."),
    )
    async def report(request: Request) -> Response:
        """Compare the policies on the users they got: rewards and diversity, with intervals."""
        return await worked_out(pool, request, "report", engine.comparison)

    return [router]
