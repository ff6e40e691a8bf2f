"""The service on Ray Serve: ``serve run variegate.service.ray_app:app store=postgresql://...``.

Each replica is the application of `variegate serve` with its engine in a thread; they agree
through the database, as all replicas do. Ray starts and ends them by the number of requests.
"""

from typing import Any, Final

from fastapi import FastAPI

from variegate.engine.logs import configure_logs
from variegate.engine.settings import load_settings
from variegate.errors import MissingExtraError
from variegate.service.app import build_app
from variegate.service.run import DRAIN_SECONDS, check_exposure

#: Options of the deployment, which a configuration file of Serve can change
OPTIONS: Final[dict[str, Any]] = {
    "name": "variegate",
    "autoscaling_config": {"min_replicas": 2, "max_replicas": 10, "target_ongoing_requests": 16},
    # Beyond this a request waits in Serve's proxy, which knows of other replicas.
    "max_ongoing_requests": 64,
    "health_check_period_s": 5.0,
    "health_check_timeout_s": 15.0,
    # A replica that ends gets no more requests, answers those that it has, and then leaves.
    "graceful_shutdown_wait_loop_s": 1.0,
    "graceful_shutdown_timeout_s": float(DRAIN_SECONDS),
    "ray_actor_options": {"num_cpus": 1},
}


def app(arguments: dict[str, Any]) -> Any:
    """Return the application for Ray Serve.

    Parameters
    ----------
    arguments
        Settings of `variegate serve` by name; others are read from the environment. `host`,
        `port` and `workers` are Ray's.
    """
    try:
        from ray import serve
    except ImportError as error:
        raise MissingExtraError(
            f"Ray Serve is missing: pip install 'variegate[ray-serve]' ({error})"
        ) from None
    # Serve's proxies may listen anywhere, so there must be keys, as for any host but this one.
    fixed = {"host": "0.0.0.0", "workers": 1, "engine_process": False}  # noqa: S104
    settings = load_settings({**arguments, **fixed})
    check_exposure(settings)

    def build() -> FastAPI:
        configure_logs(settings.log_level, settings.log_format)
        return build_app(settings)

    class Service:
        app: FastAPI

        def check_health(self) -> None:
            # Not whether the database answers: to replace replicas would not help.
            self.app.state.check_engine()

    return serve.deployment(**OPTIONS)(serve.ingress(build)(Service)).bind()
