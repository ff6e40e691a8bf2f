"""HAProxy in front of the replicas, with the settings of `deploy/haproxy.cfg`."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.attack.replicas import Replica, free_port

CONFIGURATION: Final = Path(__file__).resolve().parents[2] / "deploy" / "haproxy.cfg"


@dataclass
class Balancer:
    """A load balancer, in place of a replica: any replica may answer, however disturbed."""

    port: int
    number: str = "load balancer"
    is_starting: bool = True
    disturbances: int = 0


def haproxy() -> str | None:
    """Return the program, or None if it is not installed."""
    return shutil.which("haproxy")


@contextmanager
def balancing(replicas: Sequence[Replica], folder: Path) -> Iterator[Balancer]:
    """Run HAProxy in front of replicas."""
    port, statistics, path = free_port(), free_port(), folder / "haproxy.cfg"
    servers = [f"    server replica{r.number} 127.0.0.1:{r.port}" for r in replicas]
    text = re.sub(r"    server-template .*", "\n".join(servers), CONFIGURATION.read_text())
    text = text.replace(":8080", f"127.0.0.1:{port}").replace(":8404", f"127.0.0.1:{statistics}")
    path.write_text(text)
    program = str(haproxy())
    subprocess.run([program, "-c", "-f", path], check=True, capture_output=True)  # noqa: S603
    process = subprocess.Popen([program, "-db", "-f", path], stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        yield Balancer(port)
    finally:
        process.terminate()
        process.wait(10)
