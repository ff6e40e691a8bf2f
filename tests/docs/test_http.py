"""The pages on the service: their commands run, in order, and are answered as they say."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.docs.documents import DOCS, blocks, name_of, rows
from tests.docs.likeness import differences, missing_lines
from tests.docs.shell import WRITTEN, commands, service, terminal
from tests.paths import ROOT

README, HTTP, CLIENT = (
    ROOT / "README.md",
    *(DOCS / "reference" / f"{n}.md" for n in ("http", "client")),
)
RULES, RANKER, HISTORY, SHOP, AB_TEST, LOG = (
    DOCS / "how-to" / f"{name}.md"
    for name in (
        "rules",
        "your-recommender",
        "history-import",
        "your-shop",
        "ab-test",
        "evaluate-log",
    )
)
BACKUP, DELETE, MONITOR, TLS = (
    DOCS / "how-to" / f"{name}.md" for name in ("backup", "delete-user", "monitor", "tls-proxy")
)
needs_curl = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("bash")),
    reason="NOT RUN: curl and bash are needed for the commands of the documents",
)


def unlike(shown: str, language: str, real: str) -> list[str]:
    """Return where a block is not what came."""
    if language == "text":
        return missing_lines(shown, real)
    return differences(json.loads(shown), json.loads(real.splitlines()[0]))


@needs_curl
@pytest.mark.slow
@pytest.mark.parametrize("path", [HTTP, RULES, RANKER, HISTORY, SHOP, AB_TEST, LOG], ids=name_of)
def test_commands_are_answered_as_shown(path: Path) -> None:
    wrong = []
    with terminal(path) as shell:
        for command, answer in commands(path):
            real = shell.run(command.text)
            assert answer is not None, f"no answer is shown below {command.text}"
            found = unlike(answer.text, answer.language, real)
            wrong += [f"{name_of(path)}:{answer.lines_above}: {one}" for one in found]
    assert wrong == []


@needs_curl
@pytest.mark.slow
@pytest.mark.parametrize("path", [BACKUP, DELETE, MONITOR, TLS], ids=name_of)
def test_commands_of_operators_run_in_order(path: Path) -> None:
    if path == TLS and not (shutil.which("haproxy") and shutil.which("openssl")):
        pytest.skip("NOT RUN: haproxy and openssl are needed for the commands of the page")
    with terminal(path) as shell:
        answers = [(shell.run(command.text), answer) for command, answer in commands(path)]

    shown = [(real, answer) for real, answer in answers if answer is not None]
    assert shown
    for real, answer in shown:
        assert unlike(answer.text, answer.language, real) == []


@needs_curl
@pytest.mark.slow
def test_the_calls_of_the_readme_show_that_it_learns() -> None:
    with terminal(README) as shell:
        ((command, _),) = commands(README)
        printed = shell.run(command.text)
        again = shell.run(f"curl -s -X POST http://{WRITTEN}/v1/users/ana/slates")
    slate, result, words = re.findall(
        r'\{"slate_id":"\w+","user".*?\}\}|\{"slate_id".*?\}|"words":.*', printed
    )

    assert [item["title"] for item in json.loads(slate)["items"]].count("Seven Samurai") == 1
    assert json.loads(result)["status"] == "learnt"
    assert "Perhaps you like War and History." in words
    assert json.loads(again)["items"][0]["title"] == "The Bridge on the River Kwai"
    assert "The Bridge on the River Kwai" in README.read_text(encoding="utf-8")


@pytest.mark.slow
def test_python_blocks_of_the_client_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "client"}
    python = [block for block in blocks(CLIENT) if block.language == "python"]
    with service() as (_, address):
        for block in python:
            source = "\n" * block.lines_above + block.text.replace(WRITTEN, address)
            exec(compile(source, name_of(CLIENT), "exec"), namespace)  # noqa: S102
        with urlopen(f"http://{address}/openapi.json") as answer:
            paths = json.load(answer)["paths"]

    assert len(python) >= 5
    assert "Perhaps you like War and History" in namespace["ana"].learnt.words.likes
    served = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    listed = {route for row in rows(HTTP, "All routes") for route in re.findall(r"`(.+?)`", row[0])}
    assert listed - {"GET /docs", "GET /openapi.json"} == served
