"""The files of `deploy/`: accepted by the validators of their formats, and true of the service."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from compose_spec.models import ComposeSpecification

from tests.paths import ROOT
from variegate.engine.settings import PREFIX, Settings
from variegate.service.metrics import Metrics

DEPLOY = ROOT / "deploy"
PYTHON = Path(sys.executable).parent


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def replica_settings() -> dict[str, str]:
    settings: dict[str, str] = compose()["services"]["service"]["environment"]
    return settings


def test_dockerfile_has_no_complaints_of_hadolint() -> None:
    found = subprocess.run(
        [PYTHON / "hadolint", DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")


def test_compose_file_follows_the_specification() -> None:
    known = ComposeSpecification.model_validate(compose())
    assert known.services is not None
    assert set(known.services) == {"service", "balancer", "postgres", "prometheus", "grafana"}


@pytest.mark.parametrize("manifest", manifests(), ids=lambda manifest: manifest["kind"])
def test_manifests_follow_the_schemas_of_kubernetes(manifest: dict[str, Any]) -> None:
    latest = kubernetes_validate.latest_version()
    assert latest.startswith(kubernetes_validate.validate(manifest, latest, strict=True))


def test_every_variable_is_a_setting() -> None:
    text = "".join(path.read_text() for path in DEPLOY.rglob("*") if path.is_file())
    names = {name.lower() for name in re.findall(rf"\b{PREFIX}([A-Z_]+)\b", text)}
    assert {"store", "host", "page"} <= names <= set(Settings.model_fields)


def test_three_replicas_are_behind_the_load_balancer() -> None:
    assert compose()["services"]["service"]["deploy"]["replicas"] == 3
    assert "server-template replica 3 service:8000" in (DEPLOY / "haproxy.cfg").read_text()


def test_dashboard_shows_metrics_that_the_service_has() -> None:
    metrics = Metrics()
    metrics.count_request("/v1/users/{user}/slates", "POST", 201, 0.01)
    metrics.count_refusal("no_key")
    for name in ("answered lmdp", "positions lmdp", "reward lmdp", "diversity lmdp genres"):
        metrics.observe(name, 1)
    known = set(re.findall(r"^(variegate_\w+)", metrics.text().decode(), flags=re.M))
    shown = set(re.findall(r"\bvariegate_\w+", (DEPLOY / "grafana" / "dashboard.json").read_text()))
    assert len(shown) > 8
    assert shown <= known


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"]
    places = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
