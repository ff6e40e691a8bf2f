"""`python -m tools.dist`: build the distributions, and try the wheel as a stranger would.

The source distribution and the wheel are built and checked; the wheel is installed into a new
environment, and what the README shows is run there, in a folder without the source tree.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
#: What belongs beside the package, not into a distribution.
BESIDE = {"benchmarks", "deploy", "docs", "experiments", "tests", "tools"}
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PRINTS = re.compile(r"^prints `(.+?)`", re.MULTILINE)
_ADDRESS = "127.0.0.1:8000"


@click.command()
@click.option("--out", default="dist", show_default=True, help="Folder for the distributions.")
def dist(out: str) -> None:
    """Build the sdist and the wheel, check them, and run the README from the wheel."""
    folder = Path(out).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    _call([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    _call([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel])
    check_contents(sdist, wheel)
    click.echo("Contents: only the package")
    with tempfile.TemporaryDirectory(prefix="variegate-dist-") as name:
        try_wheel(wheel, Path(name))
    click.echo(f"Ready: {sdist.name} and {wheel.name} in {folder}")


def check_contents(sdist: Path, wheel: Path) -> None:
    """Raise if a distribution lacks the page, or has what belongs beside the package."""
    with tarfile.open(sdist) as archive:
        in_sdist = [name.partition("/")[2] for name in archive.getnames()]
    with zipfile.ZipFile(wheel) as packed:
        in_wheel = packed.namelist()
    for path, names, page in (
        (sdist, in_sdist, "src/variegate/demo/page/index.html"),
        (wheel, in_wheel, "variegate/demo/page/index.html"),
    ):
        if stray := sorted(name for name in names if name.split("/")[0] in BESIDE):
            raise click.ClickException(f"{path.name} has {stray[0]}, which is not of the package")
        if page not in names:
            raise click.ClickException(f"{path.name} lacks {page}")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment in `folder`, and run what the README shows."""
    _call([sys.executable, "-m", "venv", folder / "venv"])
    commands = folder / "venv" / "bin"
    pip = [commands / "python", "-m", "pip", "install", "--quiet"]
    _call([*pip, "--constraint", ROOT / "constraints.txt", f"{wheel}[service]"])
    place = _output(
        [commands / "python", "-c", "import variegate; print(variegate.__file__)"], commands, folder
    )
    if not place.startswith(str(folder)):
        raise click.ClickException(f"the wheel is not what is imported, but {place.strip()}")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    _run_python(readme, commands, folder)
    _run_service(readme, commands, folder)
    _run_terminal(commands, folder)


def _run_python(readme: str, commands: Path, folder: Path) -> None:
    """Run the Python blocks as one program each, and compare what they print."""
    blocks = [text for language, text in _BLOCK.findall(readme) if language == "python"][:2]
    printed = _PRINTS.findall(readme)
    # The second block goes on with the names of the first.
    for number, expected in enumerate(printed, start=1):
        lines = _output([commands / "python", "-c", "".join(blocks[:number])], commands, folder)
        if lines.splitlines()[-1] != expected:
            raise click.ClickException(f"the README says that it prints {expected}, not {lines}")
        click.echo(f"README, block {number}: {expected}")


def _run_service(readme: str, commands: Path, folder: Path) -> None:
    """Start the service, get its page, and run the README's requests."""
    (requests,) = [text for _, text in _BLOCK.findall(readme) if f"http://{_ADDRESS}/v1" in text]
    process = subprocess.Popen(  # noqa: S603
        [commands / "variegate", "serve", "--port", "0", "--log-level", "error"],
        cwd=folder,
        env=_environment(commands),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        line = process.stdout.readline()
        found = re.search(r"http://([\w.]+:\d+)", line)
        if found is None:
            raise click.ClickException(f"variegate serve did not say where it is, but {line!r}")
        with urllib.request.urlopen(f"http://{found[1]}/", timeout=30) as page:
            html = page.read().decode()
        if "· variegate</title>" not in html:
            raise click.ClickException("the service does not serve its page")
        script = "set -euo pipefail\n" + requests.replace(_ADDRESS, found[1])
        learnt = _output(["bash", "-c", script], commands, folder).splitlines()[-1]
        click.echo(f"README, service: the page, and {learnt[:70]}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        if process.stdout is not None:
            process.stdout.close()


def _run_terminal(commands: Path, folder: Path) -> None:
    """Play `variegate try` with two picks and the end."""
    text = _output([commands / "variegate", "try"], commands, folder, typed="1 3\n2\nq\n")
    picked = [line for line in text.splitlines() if line.startswith("Picked 1 of 10")]
    if not picked:
        raise click.ClickException(f"variegate try did not count the picks:\n{text}")
    click.echo(f"README, terminal: {picked[0]}")


def _output(words: Sequence[object], commands: Path, folder: Path, typed: str = "") -> str:
    return subprocess.run(  # noqa: S603
        [str(word) for word in words],
        cwd=folder,
        env=_environment(commands),
        input=typed,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def _call(words: Sequence[object]) -> None:
    click.echo(f"$ {' '.join(Path(str(word)).name for word in words[:3])} …")
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _environment(commands: Path) -> dict[str, str]:
    """Return the environment of a stranger: no settings, and no path to the source tree."""
    kept = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("VARIEGATE_", "PYTHON", "VIRTUAL_ENV"))
    }
    return {**kept, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}


if __name__ == "__main__":
    dist(prog_name="python -m tools.dist")
