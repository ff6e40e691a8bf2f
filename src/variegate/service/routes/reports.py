"""What an operator asks."""

from fastapi import APIRouter, Response

from variegate.service.access import admin_router
from variegate.service.desk import Desk
from variegate.service.routes.answers import answer_of, answered
from variegate.service.wire import ReportAnswer


def report_routes(desk: Desk) -> list[APIRouter]:
    """Return the routes that are about how it goes."""
    router = admin_router(tags=["operation"])

    @router.get(
        "/report",
        response_class=Response,
        responses=answer_of(ReportAnswer, "The policies side by side."),
    )
    def report() -> Response:
        """Compare the policies on the users they got: rewards and diversity, with intervals."""
        return answered(desk.comparison())

    return [router]
