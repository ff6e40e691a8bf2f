"""The routes over a desk, by subject."""

from fastapi import APIRouter

from variegate.engine import Desk
from variegate.service.routes.items import item_routes
from variegate.service.routes.page import page_routes
from variegate.service.routes.priors import prior_routes
from variegate.service.routes.reports import report_routes
from variegate.service.routes.slates import slate_routes
from variegate.service.routes.users import user_routes
from variegate.service.small_pool import SmallPool


def desk_routes(desk: Desk) -> list[APIRouter]:
    """Return every route of the service that is about its work."""
    pool = SmallPool()
    return [
        *slate_routes(desk),
        *user_routes(desk),
        *item_routes(desk),
        *report_routes(desk, pool),
        *prior_routes(desk, pool),
        *page_routes(desk, pool),
    ]
