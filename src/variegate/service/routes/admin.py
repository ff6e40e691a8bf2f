"""Routes for operators: the comparison of policies, and their priors."""

from fastapi import APIRouter, Request, Response

from variegate.engine import Engine
from variegate.schemas import PolicyName, Prior, Report
from variegate.service.responses import (
    CoalescingPool,
    computed_response,
    json_response,
    returns,
)
from variegate.service.routing import admin_router, read_router


def operator_routers(engine: Engine, pool: CoalescingPool) -> list[APIRouter]:
    """Return the routes for operators."""
    reading, router = read_router(tags=["operation"]), admin_router(tags=["operation"])

    @reading.get("/report", **returns(Report, "The comparison."))
    async def report(request: Request) -> Response:
        """Compare the policies over their users: rewards and diversity, with intervals."""
        return await computed_response(pool, request, "report", engine.report)

    @reading.get("/policies/{policy}/prior", **returns(Prior, "The prior."))
    def prior(policy: PolicyName) -> Response:
        """Return the prior of a policy's new users, in words and numbers."""
        return json_response(engine.priors.view(policy))

    @router.post("/policies/{policy}/prior", **returns(Prior, "The new prior."))
    async def fit_prior(request: Request, policy: PolicyName) -> Response:
        """Fit the prior of a policy to its users; 409 if there are too few."""
        key = ("fit", policy)
        return await computed_response(pool, request, key, lambda: engine.priors.fit(policy))

    @router.delete("/policies/{policy}/prior", **returns(Prior, "The new prior."))
    def drop_prior(policy: PolicyName) -> Response:
        """Return to the prior of the policy's spec."""
        return json_response(engine.priors.drop(policy))

    return [reading, router]
