"""The routes over a desk, by subject."""

from fastapi import APIRouter

from variegate.service.desk import Desk
from variegate.service.routes.items import item_routes
from variegate.service.routes.page import page_routes
from variegate.service.routes.priors import prior_routes
from variegate.service.routes.reports import report_routes
from variegate.service.routes.slates import slate_routes
from variegate.service.routes.users import user_routes


def desk_routes(desk: Desk) -> list[APIRouter]:
    """Return every route of the service that is about its work."""
    return [
        *slate_routes(desk),
        *user_routes(desk),
        *item_routes(desk),
        *report_routes(desk),
        *prior_routes(desk),
        *page_routes(desk),
    ]
