"""Pages of the reference that are made from the code whenever the site is built."""

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import variegate
from tools.site.notebooks import notebook_page
from tools.site.routes import routes_page
from variegate import data, errors, evaluation, policies, prior
from variegate.evaluation import offpolicy
from variegate.model import distances

#: Packages with a page of their own, by the page: the module and its title. Names of `variegate`
#: are on the page of the package that has them.
_PACKAGES: Final[Mapping[str, tuple[Any, str]]] = MappingProxyType(
    {
        "policies": (policies, "Policies"),
        "distances": (distances, "Distances"),
        "prior": (prior, "Priors"),
        "data": (data, "Data"),
        "evaluation": (evaluation, "Evaluation"),
        "offpolicy": (offpolicy, "Evaluation of logs"),
        "errors": (errors, "Errors"),
    }
)


_NOTEBOOKS: Final = Path(__file__).parents[2] / "docs" / "tutorial" / "notebooks"


def settings_page() -> str:
    """Return the page of the service's settings."""
    from variegate.engine.settings import PREFIX, Settings
    from variegate.engine.terms import Rules

    lines = [
        "# Settings",
        "",
        "All settings of `variegate serve`, made from the code. Each is a key of the TOML file "
        f"that `--config` names and a variable of the environment: `max_k =` and `{PREFIX}MAX_K`; "
        "many are [flags](cli.md#variegate-serve) too. Flags take precedence over the "
        "environment, the environment over the file, which `VARIEGATE_CONFIG` can name too. "
        "`variegate serve --print-config > service.toml` writes a file with all of them.",
        "",
        "An entry of a table such as `policies` is set in the environment by its name after two "
        f"underscores: `{PREFIX}POLICIES__LEARNS=lmdp:prior=prior.npz`. A variable that begins "
        f"with `{PREFIX}` and is not a setting is refused, with a suggestion. (Kubernetes sets "
        "such variables for a service named `variegate`: switch that off with "
        "`enableServiceLinks: false`.) A settings file with a password must be writable by its "
        "owner only; one that everybody can write is always refused.",
    ]
    for title, names in (
        ("How the service runs", [n for n in Settings.model_fields if n not in Rules.model_fields]),
        ("Lists, feedback and priors: the same in all replicas", list(Rules.model_fields)),
    ):
        lines += ["", f"## {title}", "", "| setting | default | meaning |", "|---|---|---|"]
        for name in names:
            field = Settings.model_fields[name]
            default = _code(field.default)
            lines.append(f"| `{name}` | {default} | {_cell(field.description or '')} |")
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    """Return the page of the metrics that the service reports."""
    from prometheus_client.registry import Collector

    from variegate.service.metrics import Metrics

    metrics = Metrics()
    metrics.watch_queue(lambda: 0)
    lines = [
        "# Metrics",
        "",
        "What `GET /metrics` returns in the Prometheus text format, made from the code; "
        "[monitor](../how-to/monitor.md) has queries and alerts for it. A counter "
        "is reported with `_total` behind its name, a histogram with `_bucket`, `_sum` and "
        "`_count`. Several workers report their sums, without the gauges.",
        "",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    ]
    collectors: Iterable[Collector] = list(metrics.registry._collector_to_names)
    for collector in collectors:
        labels = ", ".join(f"`{label}`" for label in getattr(collector, "_labelnames", ()))
        for family in collector.collect():
            lines.append(
                f"| `{family.name}` | {family.type} | {labels} | {_cell(family.documentation)} |"
            )
    return "\n".join(lines) + "\n"


def openapi_page() -> str:
    """Return the page of routes and fields, from the OpenAPI schema of a running service."""
    return routes_page(asyncio.run(_schema()))


async def _schema() -> dict[str, Any]:
    from variegate.engine.settings import Settings
    from variegate.service.app import build_app

    with tempfile.TemporaryDirectory(prefix="variegate-site-") as name:
        store = f"sqlite:///{Path(name) / 'empty.db'}"
        app = build_app(Settings(store=store, engine_process=False, page=False))
        async with app.router.lifespan_context(app):
            return app.openapi()


def _python_page(page: str) -> str:
    """Return the page of a package's public names, which mkdocstrings fills."""
    module, title = _PACKAGES[page]
    return _api(title, f"`{module.__name__}`", _places(page))


def _places(page: str) -> list[str | None]:
    """Return where the public classes and functions of a package are defined."""
    module, _ = _PACKAGES[page]
    names = getattr(module, "__all__", None) or [
        name for name, found in vars(module).items() if _is_defined_in(found, module.__name__)
    ]
    return [_place(getattr(module, name)) for name in names]


def _top_page() -> str:
    """Return the page of the names of `variegate` that no other page has."""
    others = {place for page in _PACKAGES for place in _places(page)}
    places = [_place(getattr(variegate, name)) for name in variegate.__all__]
    kept = [place for place in places if place not in others]
    kept.append("variegate.sklearn_estimator.ListEstimator")
    kept.append("variegate.lenskit_component.ListRecommender")
    return _api("Catalogues and recommenders", "`import variegate as vg`", kept)


def _client_page() -> str:
    places = [f"variegate.client.{name}" for name in ("Client", "AsyncClient")]
    about = "`variegate.client`; [the guide](../client.md) says how it retries."
    return _api("Clients of the service", about, places)


def _api(title: str, about: str, places: Iterable[str | None]) -> str:
    blocks = [f"::: {place}" for place in dict.fromkeys(places) if place]
    return "\n\n".join([f"# {title}", about, *blocks]) + "\n"


def _place(found: object) -> str | None:
    """Return where a class or function is defined; None for constants and modules."""
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"{found.__module__}.{found.__qualname__}"
    return None


def _is_defined_in(found: object, module: str) -> bool:
    name = getattr(found, "__name__", "_")
    return _place(found) == f"{module}.{name}" and not name.startswith("_")


def _code(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, tuple | dict) and not value:
        return "empty"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


#: Every page that is made when the site is built, by its path, and what makes it.
GENERATED: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "reference/settings.md": settings_page,
        "reference/metrics.md": metrics_page,
        "reference/openapi.md": openapi_page,
        "reference/api/variegate.md": _top_page,
        "reference/api/client.md": _client_page,
        **{
            f"tutorial/notebooks/{path.stem}.md": partial(notebook_page, path)
            for path in sorted(_NOTEBOOKS.glob("*.ipynb"))
        },
        **{f"reference/api/{page}.md": partial(_python_page, page) for page in _PACKAGES},
    }
)
