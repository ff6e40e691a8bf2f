"""What policies begin with: looked at, fitted anew, given up."""

from fastapi import APIRouter, Request, Response

from variegate.engine import Engine
from variegate.schemas import PolicyName, Prior, Report
from variegate.service.responses import SmallPool, answer_of, answered, worked_out
from variegate.service.routing import admin_router


def prior_routes(engine: Engine, pool: SmallPool) -> list[APIRouter]:
    """Return the routes that are about priors."""
    router = admin_router(tags=["operation"])

    @router.get(
        "/policies/{policy}/prior",
        response_class=Response,
        responses=answer_of(Prior, "What users of the policy begin with."),
    )
    def prior(policy: PolicyName) -> Response:
        """Return what new users of a policy are believed to want, in words and numbers."""
        return answered(engine.priors.view(policy))

    @router.post(
        "/policies/{policy}/prior",
        response_class=Response,
        responses=answer_of(Prior, "What users begin with from here on."),
    )
    async def fit_prior(request: Request, policy: PolicyName) -> Response:
        """Fit what users begin with to the users that there are; 409 where they are too few."""
        return await worked_out(pool, request, ("fit", policy), lambda: engine.priors.fit(policy))

    @router.delete(
        "/policies/{policy}/prior",
        response_class=Response,
        responses=answer_of(Prior, "What users begin with from here on."),
    )
    def drop_prior(policy: PolicyName) -> Response:
        """Go back to what the policy's line says of its prior."""
        return answered(engine.priors.drop(policy))

    return [router]


def report_routes(engine: Engine, pool: SmallPool) -> list[APIRouter]:
    """Return the routes that are about how it goes."""
    router = admin_router(tags=["operation"])

    @router.get(
        "/report",
        response_class=Response,
        responses=answer_of(Report, "The policies side by side."),
    )
    async def report(request: Request) -> Response:
        """Compare the policies on the users they got: rewards and diversity, with intervals."""
        return await worked_out(pool, request, "report", engine.report)

    return [router]
