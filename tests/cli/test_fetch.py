"""`variegate fetch`, against a server on this machine."""

import http.server
import io
import shutil
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.running import archive, fail, in_a_process, run
from tests.paths import FIXTURES
from variegate.data.download import DATASETS


def tiny_zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for file in sorted((FIXTURES / "ml-100k").iterdir()):
            packed.write(file, f"ml-100k/{file.name}")
    return out.getvalue()


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a tiny ml-100k.zip, and let the registry expect it there."""
    content = tiny_zip()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_address[1]}/ml-100k.zip"
    known = replace(DATASETS["ml-100k"], url=address, checksums={})
    monkeypatch.setattr(import_module("variegate.data.download"), "DATASETS", {"ml-100k": known})
    monkeypatch.setenv("no_proxy", "*")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield address
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("url")
def test_fetched_zip_is_in_the_folder_that_was_named(tmp_path: Path) -> None:
    output = run("fetch", "ml-100k", "--to", tmp_path)

    assert f"ml-100k is now at {tmp_path / 'ml-100k.zip'} (" in output
    assert (tmp_path / "ml-100k.zip").read_bytes() == tiny_zip()
    assert f"Next: variegate stats {tmp_path / 'ml-100k.zip'}\n" in output


@pytest.mark.usefixtures("url")
def test_what_was_fetched_is_there_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))

    first, second = run("fetch", "ml-100k"), run("fetch", "ml-100k")

    assert "ml-100k is now at" in first
    assert f"ml-100k is already at {tmp_path / 'ml-100k.zip'}" in second
    assert "Next: variegate stats ml-100k\n" in second


@pytest.mark.usefixtures("url")
def test_licence_is_reported_whole(tmp_path: Path) -> None:
    output = run("fetch", "ml-100k", "--to", tmp_path)

    assert [f"  - {term}" in output for term in DATASETS["ml-100k"].licence] == [True] * 4


@pytest.mark.usefixtures("url")
@pytest.mark.parametrize("watched", [True, False])
def test_bar_is_drawn_on_a_terminal_only(
    watched: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1" if watched else "")

    output = run("fetch", "ml-100k", "--to", tmp_path)

    assert ("Downloading ml-100k" in output) == watched


def test_mirror_that_gives_something_else_leaves_nothing(url: str, tmp_path: Path) -> None:
    # A process of its own has the real registry, which knows the real checksums.
    done = in_a_process("fetch", "ml-100k", "--to", tmp_path, "--url", url)

    assert done.returncode == 1
    assert "what came is not ml-100k, nothing was kept" in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_mirror_must_be_http(tmp_path: Path) -> None:
    line = fail("fetch", "ml-100k", "--to", tmp_path, "--url", "ftp://127.0.0.1/ml-100k.zip")

    assert line.startswith("`url` must begin with http:// or https://")


def test_unknown_name_is_one_line_with_the_nearest() -> None:
    assert fail("fetch", "ml-100").endswith("got 'ml-100': did you mean 'ml-100k'?")


def test_anime_says_how_to_get_it(tmp_path: Path) -> None:
    line = fail("fetch", "anime", "--to", tmp_path)

    assert "log in at https://www.kaggle.com/" in line
    assert str(tmp_path / "anime.zip") in line


def test_folder_of_anime_that_is_there_will_do_in_a_process_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "anime", tmp_path / "anime")

    done = in_a_process("fetch", "anime", VARIEGATE_DATA=str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"anime is already at {tmp_path / 'anime'}\n")


def test_real_archive_is_recognised_by_its_content() -> None:
    path = archive("ml-100k.zip")

    output = run("fetch", "ml-100k", "--to", path.parent)

    assert f"ml-100k is already at {path}" in output
