"""The routes over a desk, by subject."""

from fastapi import APIRouter

from variegate.demo.routes import page_routes
from variegate.engine import Engine
from variegate.service.routes.items import item_routes
from variegate.service.routes.priors import prior_routes
from variegate.service.routes.reports import report_routes
from variegate.service.routes.slates import slate_routes
from variegate.service.routes.users import user_routes
from variegate.service.small_pool import SmallPool


def api_routes(engine: Engine) -> list[APIRouter]:
    """Return every route of the service that is about its work."""
    pool = SmallPool()
    return [
        *slate_routes(engine),
        *user_routes(engine),
        *item_routes(engine),
        *report_routes(engine, pool),
        *prior_routes(engine, pool),
        *page_routes(engine, pool),
    ]
