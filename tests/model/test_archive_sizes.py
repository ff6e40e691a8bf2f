"""Archives that unpack to far more than they are: refused before anything is unpacked."""

import io
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from variegate import Catalogue, Prior
from variegate.cli.fit_prior import is_prior
from variegate.data.embeddings import Embeddings
from variegate.data.vectors import read_vectors
from variegate.errors import DataError
from variegate.files import open_npz, read_member

#: What the bombs below unpack to, just over what is always read.
UNPACKED = 300 * 2**20


def put_zeros(archive: zipfile.ZipFile, name: str, head: bytes, size: int) -> None:
    """Put `head` and `size` zeros into an archive, packed, without packing them all."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    zeros = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    archive.writestr(name, first + zeros * (size // 2**20) + packer.flush())
    stored = archive.getinfo(name)
    stored.compress_type, stored.file_size = zipfile.ZIP_DEFLATED, len(head) + size


def array_head(shape: tuple[int, ...]) -> bytes:
    file = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of 0.3 MB whose arrays take 300 MB."""
    path = tmp_path_factory.mktemp("bombs") / "bomb.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("header", "features", "mean", "vectors"):
            size = UNPACKED // 4
            put_zeros(archive, f"{name}.npy", array_head((size // 8,)), size)
        put_zeros(archive, "ratings.dat", b"", UNPACKED + 2**20)
    assert path.stat().st_size < 700_000
    return path


READERS: dict[str, Callable[[Path], object]] = {
    "catalogue": Catalogue.load,
    "prior": Prior.load,
    "prior as bytes": lambda path: Prior.from_bytes(path.read_bytes()),
    "embeddings": Embeddings.load,
    "vectors": lambda path: read_vectors(str(path), None, None),
    "data set": lambda path: read_member(path, "ratings.dat"),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_bomb_is_refused_before_it_is_unpacked(reader: str, bomb: Path) -> None:
    tracemalloc.start()
    with pytest.raises(DataError) as caught:
        READERS[reader](bomb)
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    size = bomb.stat().st_size
    assert "unpacks to" in str(caught.value)
    assert f"an archive of {size:,} bytes must unpack to at most 268,435,456" in str(caught.value)
    assert most < 20 * 2**20


def test_a_bomb_is_no_prior(bomb: Path) -> None:
    assert not is_prior(str(bomb))


def test_a_bomb_is_refused_by_a_process_with_little_memory(bomb: Path) -> None:
    script = (
        "import resource, sys\n"
        "from variegate import Catalogue\n"
        "from variegate.errors import DataError\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (now + 50 * 2**20,) * 2)\n"
        "try:\n"
        "    Catalogue.load(sys.argv[1])\n"
        "except DataError as error:\n"
        "    assert 'must unpack to at most' in str(error), error\n"
    )
    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux tells how much memory a process has")
    subprocess.run([sys.executable, "-c", script, str(bomb)], check=True, timeout=60)


def test_an_array_that_declares_more_than_its_file_has(tmp_path: Path) -> None:
    path = tmp_path / "lies.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("features.npy", array_head((10**12, 10)) + bytes(80))

    with (
        pytest.raises(
            DataError, match=r"`features.npy` declares an array of shape \(1000000000000"
        ),
        open_npz(path, "catalogue"),
    ):
        raise AssertionError("it was read")


def test_a_lone_array_that_declares_more_than_its_file_has(tmp_path: Path) -> None:
    path = tmp_path / "lies.npy"
    path.write_bytes(array_head((10**12, 10)) + bytes(80))

    with pytest.raises(DataError, match=r"lies\.npy declares an array of shape"):
        read_vectors(str(path), None, None)


def test_an_array_of_nothing_many_times_over_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.npz"
    head = array_head((10**12,)).replace(b"'<f8'", b"'|S0'")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ids.npy", head)

    with pytest.raises(DataError, match="declares an array"), open_npz(path, "catalogue"):
        raise AssertionError("it was read")


def test_methods_that_numpy_does_not_write_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("features.npy", array_head((1,)) + bytes(8))

    with pytest.raises(DataError, match="must be stored or deflated"), open_npz(path, "x"):
        raise AssertionError("it was read")


def test_a_sparse_table_is_read_however_well_it_was_packed(tmp_path: Path) -> None:
    path = tmp_path / "sparse.npz"
    np.savez_compressed(path, table=np.zeros((1000, 4000)))

    with open_npz(path, "table") as arrays:
        assert arrays["table"].shape == (1000, 4000)
