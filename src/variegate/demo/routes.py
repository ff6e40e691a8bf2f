"""Private routes of the page, beside lists and feedback; they change with it."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from variegate.demo.views import Demo
from variegate.schemas import Id

PolicyName = Annotated[str, Query(min_length=1, max_length=64)]
#: Computes a view for a request in a thread pool, once for all requests with an equal key.
Compute = Callable[[Request, Hashable, Callable[[], Any]], Awaitable[Response]]


def add_page_routes(reading: APIRouter, admin: APIRouter, demo: Demo, compute: Compute) -> None:
    """Add the page's routes to a router for readers and to one for admins."""
    _add_slate_routes(reading, demo, compute)
    _add_catalogue_routes(reading, demo, compute)
    _add_admin_routes(admin, demo, compute)


def _add_slate_routes(reading: APIRouter, demo: Demo, compute: Compute) -> None:
    @reading.get("/users/{user}/counterfactual", include_in_schema=False)
    async def counterfactual(
        request: Request,
        user: Id,
        policy: PolicyName,
        slate: Annotated[str, Query(pattern=r"^[0-9A-Za-z_-]{1,64}$")],
    ) -> Response:
        """Return what another policy, taught by the same feedback, would have shown."""
        key = (user, slate, policy)
        return await compute(
            request, ("counterfactual", key), lambda: demo.counterfactual(user, slate, policy)
        )

    @reading.get("/simulation", include_in_schema=False)
    async def simulation(
        request: Request,
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        rounds: Annotated[int, Query(ge=1, le=1000)] = 300,
        policy: PolicyName | None = None,
    ) -> Response:
        """Let a policy learn what a simulated user wants."""
        key = (policy, rounds, seed)
        return await compute(request, ("simulation", key), lambda: demo.simulation(*key))


def _add_catalogue_routes(reading: APIRouter, demo: Demo, compute: Compute) -> None:
    @reading.get("/policies", include_in_schema=False)
    async def policies(request: Request) -> Response:
        """Return the policies that can work on this catalogue."""
        return await compute(request, "policies", demo.policies)

    @reading.get("/map", include_in_schema=False)
    async def map_(request: Request) -> Response:
        """Return the items in two dimensions."""
        return await compute(request, "map", demo.map)


def _add_admin_routes(admin: APIRouter, demo: Demo, compute: Compute) -> None:
    @admin.get("/overview", include_in_schema=False)
    async def overview(
        request: Request, minutes: Annotated[int, Query(ge=1, le=7 * 24 * 60)] = 60
    ) -> Response:
        """Return traffic, rewards and learnt weights of the last minutes."""
        metrics = request.app.state.metrics

        def work() -> dict[str, Any]:
            return {**demo.overview(minutes), "slowest": metrics.slowest()}

        return await compute(request, ("overview", minutes), work)
