"""What `make dist` refuses to hand out; building and installing themselves are not tested here."""

import tarfile
import zipfile
from pathlib import Path

import click
import pytest

from tools.dist import check_contents

PAGE = "variegate/demo/page/index.html"


def distributions(folder: Path, in_sdist: list[str], in_wheel: list[str]) -> tuple[Path, Path]:
    """Make a source distribution and a wheel of empty files."""
    sdist, wheel, empty = folder / "it-1.tar.gz", folder / "it-1.whl", folder / "empty"
    empty.touch()
    with tarfile.open(sdist, "w:gz") as archive:
        for name in in_sdist:
            archive.add(empty, f"it-1/{name}")
    with zipfile.ZipFile(wheel, "w") as packed:
        for name in in_wheel:
            packed.writestr(name, b"")
    return sdist, wheel


def test_distributions_of_the_package_alone_pass(tmp_path: Path) -> None:
    check_contents(*distributions(tmp_path, ["README.md", f"src/{PAGE}"], [PAGE]))


@pytest.mark.parametrize(
    ("in_sdist", "in_wheel", "words"),
    [
        ([f"src/{PAGE}"], [PAGE, "experiments/run.py"], "it-1.whl has experiments/run.py"),
        ([f"src/{PAGE}", "tests/test_x.py"], [PAGE], "it-1.tar.gz has tests/test_x.py"),
        ([f"src/{PAGE}"], ["variegate/py.typed"], f"it-1.whl lacks {PAGE}"),
    ],
)
def test_what_does_not_belong_or_lacks_is_named(
    tmp_path: Path, in_sdist: list[str], in_wheel: list[str], words: str
) -> None:
    with pytest.raises(click.ClickException, match=words):
        check_contents(*distributions(tmp_path, in_sdist, in_wheel))
