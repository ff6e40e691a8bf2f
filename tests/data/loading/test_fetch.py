"""Fetching, against a real server on this machine."""

import http.server
import io
import socket
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import md5
from importlib import import_module
from pathlib import Path

import pytest

from variegate.data.download import DATASETS, fetch_dataset, find_dataset
from variegate.errors import DataError, InputError, NotFoundError


def zip_of(ratings: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ml-100k/u.data", ratings)
        archive.writestr("ml-100k/u.item", b"films")
    return out.getvalue()


RATINGS = bytes(range(256)) * 1_000
WHOLE = zip_of(RATINGS)


@dataclass
class Site:
    """What the server gives, how, and what it was asked."""

    content: bytes = WHOLE
    knows_ranges: bool = True
    says_length: bool = True
    #: Send so many bytes of a body only
    breaks_after: int | None = None
    status: int = 200
    ranges_asked: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        asked = request.headers.get("Range")
        self.ranges_asked.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and self.knows_ranges else 0
        status = self.status if self.status != 200 or not start else 206
        status = 416 if start and start >= len(self.content) else status
        body = self.content[start:]
        request.send_response(status)
        if status == 206:
            last = len(self.content) - 1
            request.send_header("Content-Range", f"bytes {start}-{last}/{len(self.content)}")
        if self.says_length:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.breaks_after])


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Serve a zip in the layout of ml-100k, and expect its content."""
    monkeypatch.setenv("no_proxy", "*")
    known = replace(
        DATASETS["ml-100k"],
        checksums={"u.data": md5(RATINGS, usedforsecurity=False).hexdigest()},
    )
    # By its full name, since the package's `fetch` is the function.
    module = import_module("variegate.data.download")
    monkeypatch.setattr(module, "DATASETS", {"ml-100k": known})
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.answer(self)

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}/ml-100k.zip"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def test_fetched_zip_is_whole_and_alone(site: Site, tmp_path: Path) -> None:
    path = fetch_dataset("ml-100k", folder=tmp_path / "new" / "folder", url=site.url)
    assert path == tmp_path / "new" / "folder" / "ml-100k.zip"
    assert path.read_bytes() == WHOLE
    assert list(path.parent.iterdir()) == [path]


def test_fetched_zip_is_not_fetched_again(site: Site, tmp_path: Path) -> None:
    fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    assert site.ranges_asked == [None]


def test_wrong_zip_that_is_there_is_replaced(site: Site, tmp_path: Path) -> None:
    (tmp_path / "ml-100k.zip").write_bytes(zip_of(b"other"))
    assert fetch_dataset("ml-100k", folder=tmp_path, url=site.url).read_bytes() == WHOLE


def test_unpacked_folder_that_is_right_will_do(site: Site, tmp_path: Path) -> None:
    zipfile.ZipFile(io.BytesIO(WHOLE)).extractall(tmp_path)
    assert fetch_dataset("ml-100k", folder=tmp_path, url=site.url) == tmp_path / "ml-100k"
    assert site.ranges_asked == []


def test_progress_ends_at_the_total(site: Site, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    fetch_dataset("ml-100k", folder=tmp_path, url=site.url, progress=lambda *now: seen.append(now))
    assert seen[-1] == (len(WHOLE), len(WHOLE))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 1


def test_total_may_be_unknown(site: Site, tmp_path: Path) -> None:
    site.says_length = False
    seen: list[tuple[int, int | None]] = []
    fetch_dataset("ml-100k", folder=tmp_path, url=site.url, progress=lambda *now: seen.append(now))
    assert seen[-1] == (len(WHOLE), None)


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_download_goes_on_where_it_broke_off(
    knows_ranges: bool, site: Site, tmp_path: Path
) -> None:
    site.knows_ranges, site.breaks_after = knows_ranges, 100_000
    with pytest.raises(DataError, match=r"broke off after 100000 of \d+ bytes: run it again"):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    assert [path.name for path in tmp_path.iterdir()] == ["ml-100k.zip.part"]
    site.breaks_after = None
    seen: list[tuple[int, int | None]] = []
    path = fetch_dataset(
        "ml-100k", folder=tmp_path, url=site.url, progress=lambda *now: seen.append(now)
    )
    assert path.read_bytes() == WHOLE
    assert site.ranges_asked == [None, "bytes=100000-"]
    assert (seen[0][0] > 100_000) == knows_ranges
    assert seen[-1] == (len(WHOLE), len(WHOLE))


def test_whole_part_needs_no_more_bytes(site: Site, tmp_path: Path) -> None:
    (tmp_path / "ml-100k.zip.part").write_bytes(WHOLE)
    assert fetch_dataset("ml-100k", folder=tmp_path, url=site.url).read_bytes() == WHOLE
    assert site.ranges_asked == [f"bytes={len(WHOLE)}-"]


@pytest.mark.parametrize("left", [b"of another file", bytes(2 * len(WHOLE))])
def test_part_of_something_else_is_thrown_away(left: bytes, site: Site, tmp_path: Path) -> None:
    (tmp_path / "ml-100k.zip.part").write_bytes(left)
    assert fetch_dataset("ml-100k", folder=tmp_path, url=site.url).read_bytes() == WHOLE
    assert site.ranges_asked == [f"bytes={len(left)}-", None]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (zip_of(b"other"), r"`u\.data` must have the MD5 [0-9a-f]{32}, got [0-9a-f]{32}"),
        (b"<html>Log in first</html>", "not a complete zip file"),
        (b"", "not a complete zip file"),
        (WHOLE[:-50], "not a complete zip file"),
    ],
    ids=["other", "html", "nothing", "cut"],
)
def test_wrong_content_leaves_nothing(
    content: bytes, match: str, site: Site, tmp_path: Path
) -> None:
    site.content = content
    with pytest.raises(DataError, match=f"what came is not ml-100k, nothing was kept: {match}"):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    assert list(tmp_path.iterdir()) == []


def test_wrong_content_does_not_harm_what_was_there(site: Site, tmp_path: Path) -> None:
    (tmp_path / "ml-100k.zip").write_bytes(b"mine")
    site.content = b"<html>"
    with pytest.raises(DataError, match="nothing was kept"):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    assert (tmp_path / "ml-100k.zip").read_bytes() == b"mine"


@pytest.mark.parametrize("status", [404, 503])
def test_refusal_of_the_server_is_reported(status: int, site: Site, tmp_path: Path) -> None:
    site.status = status
    with pytest.raises(DataError, match=rf"ml-100k\.zip: the server says {status} "):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_one_line_says_which_file_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/ml-1m.zip"
        with pytest.raises(DataError) as raised:
            fetch_dataset("ml-1m", folder=tmp_path, url=url)
    message = str(raised.value)
    assert "cannot be fetched" in message
    assert "download https://files.grouplens.org/datasets/movielens/ml-1m.zip by hand" in message
    assert message.endswith(f"put it there as {tmp_path / 'ml-1m.zip'}")
    assert "\n" not in message


def test_silent_server_counts_as_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/ml-1m.zip"
        with pytest.raises(DataError, match=r"cannot be fetched \(timed out\)"):
            fetch_dataset("ml-1m", folder=tmp_path, url=url, timeout=0.05)


def test_interruption_leaves_a_part_to_go_on_from(site: Site, tmp_path: Path) -> None:
    def interrupt(_done: int, _total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url, progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["ml-100k.zip.part"]
    assert fetch_dataset("ml-100k", folder=tmp_path, url=site.url).read_bytes() == WHOLE


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://x/y", "http://", "ml-100k.zip"])
def test_url_must_be_http(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`url` must begin with http:// or https://"):
        fetch_dataset("ml-100k", folder=tmp_path, url=url)


def test_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/folder: cannot be made: Not a directory"):
        fetch_dataset("ml-100k", folder=tmp_path / "file" / "folder")


def test_part_that_cannot_be_written_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "ml-100k.zip.part").mkdir()
    with pytest.raises(DataError, match=r"ml-100k\.zip\.part: cannot be written"):
        fetch_dataset("ml-100k", folder=tmp_path, url=site.url)


def test_anime_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataError) as raised:
        fetch_dataset("anime", folder=tmp_path)
    message = str(raised.value)
    assert "without a login" in message
    assert "kaggle.com/datasets/CooperUnion/anime-recommendations-database" in message
    assert f"{tmp_path / 'anime.zip'}, or anime.csv and rating.csv into" in message


@pytest.mark.parametrize("call", [fetch_dataset, find_dataset])
def test_unknown_name_is_reported_the_nearest(call: type) -> None:
    with pytest.raises(NotFoundError, match=r"must be one of .*: did you mean 'ml-100k'\?"):
        call("ml100k")


@pytest.mark.parametrize("name", ["ml-100k", "ml-1m"])
def test_licence_says_its_main_terms(name: str) -> None:
    terms = " ".join(DATASETS[name].licence)
    assert all(word in terms for word in ("research", "permission", "acknowledge"))
