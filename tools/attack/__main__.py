"""``python -m tools.attack``: disturb a service of several replicas under load, then check it."""

import asyncio
import random
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import click
import numpy as np

from tools.attack.audit import audit
from tools.attack.balancer import balancing
from tools.attack.chaos import Chaos
from tools.attack.clients import Client
from tools.attack.facts import Facts
from tools.attack.replicas import Database, Replica, attacked, unpacked
from tools.attack.summary import summary, write_page
from variegate import Catalogue
from variegate.engine import Experiment, LiveCatalogue
from variegate.store import Store

ITEMS = 80
#: A page that is there: what is missing is told before the attack, not after it.
PAGE = click.Path(exists=True, dir_okay=False, path_type=Path)
POLICIES = {"lmdp": "lmdp", "c2ucb": "c2ucb"}


@click.command()
@click.option("--minutes", default=10.0, show_default=True, help="How long to disturb.")
@click.option("--replicas", "count", default=3, show_default=True, help="Replicas of the service.")
@click.option("--clients", default=8, show_default=True, help="Clients at once.")
@click.option("--users", default=40, show_default=True, help="Users that the clients share.")
@click.option("--seed", default=0, show_default=True, help="Decides what is disturbed when.")
@click.option("--kill-every", type=float, help="Kill a replica at least so often, in seconds.")
@click.option("--balancer", is_flag=True, help="Let clients use HAProxy in front of the replicas.")
@click.option("--skew", default=0.0, help="Seconds by which the clock of one replica is wrong.")
@click.option(
    "--upgrade-from", metavar="COMMIT", help="Run the code of this commit in the first half."
)
@click.option("--page", type=PAGE, help="Write what was found to this page.")
@click.option("--keep-logs", metavar="DIR", help="Copy the replicas' logs there at the end.")
def main(
    minutes: float,
    count: int,
    clients: int,
    users: int,
    seed: int,
    kill_every: float | None,
    balancer: bool,
    skew: float,
    upgrade_from: str | None,
    page: Path | None,
    keep_logs: str | None,
) -> None:
    """Kill and stop replicas, engine processes and PostgreSQL at random, and check every fact.

    Clients ask for lists with idempotency keys, report twice, in parts and contradictorily,
    withdraw lists, change items and forget users. Exit code 1 if anything acknowledged was lost,
    anything was counted twice, a replica that was not stopped took more than 10 s to answer, or
    anything was answered 500.

    \b
    Examples:
        python -m tools.attack --minutes 10
        python -m tools.attack --clients 32 --balancer --kill-every 20 --skew 120 \\
            --upgrade-from 02c983a --page docs/explanation/safety.md
    """
    facts = Facts()
    with ExitStack() as stack:
        replicas, database, folder = stack.enter_context(attacked(count))
        replicas[-1].skew = skew
        source = None if upgrade_from is None else unpacked(upgrade_from, folder / "before")
        for replica in replicas:
            replica.source = source
        targets = [stack.enter_context(balancing(replicas, folder))] if balancer else replicas
        settings = _settings(database.url, folder)
        rng = random.Random(seed)  # noqa: S311 - nobody's secret
        chaos = Chaos(replicas, database, facts, settings, rng, kill_every=kill_every)
        crowd = [
            Client(number, targets, facts, random.Random(f"{seed}:{number}"), users)  # noqa: S311
            for number in range(clients)
        ]
        asyncio.run(_attack(chaos, crowd, 60.0 * minutes))
        _wait_for_closing(database)
        for replica in replicas:
            if not replica.stop():
                facts.problems.append(f"replica {replica.number} did not end well on SIGTERM")
        with Store.open(database.url, create=False) as store:
            live = LiveCatalogue(Catalogue.load(folder / "items.npz"))
            wrong = [*facts.problems, *audit(store, facts, live, Experiment(POLICIES))]
        if keep_logs is not None:
            _copy_logs(replicas, folder, Path(keep_logs))
    lines = list(summary(facts, chaos, wrong))
    click.echo("\n".join(lines))
    if page is not None:
        write_page(page, minutes, lines)
    if wrong:
        raise SystemExit(1)


async def _attack(chaos: Chaos, crowd: list[Client], seconds: float) -> None:
    await chaos.start_all()
    ended = asyncio.Event()
    working = asyncio.gather(*(client.run(ended.is_set) for client in crowd))
    await chaos.run(seconds)
    ended.set()
    await working


def _settings(url: str, folder: Path) -> dict[str, Any]:
    features = np.random.default_rng(0).uniform(-1.0, 1.0, (ITEMS, 4))
    path = folder / "items.npz"
    Catalogue(range(ITEMS), features, ["cosine", "euclidean"]).save(path)
    return {
        "catalogue": str(path),
        "store": url,
        "k": 5,
        "timeout_seconds": 8.0,
        "log_level": "warning",
        "policies": POLICIES,
    }


def _wait_for_closing(database: Database) -> None:
    """Wait until no list is due: what was acknowledged and kept must be learnt by then."""
    end = monotonic() + 60.0
    with Store.open(database.url, create=False) as store:
        while monotonic() < end:
            with store.reading() as reader:
                if not reader.due_slates(reader.head().now + 6.0, 1):
                    return


def _copy_logs(replicas: list[Replica], folder: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for replica in replicas:
        name = f"replica-{replica.number}.log"
        (target / name).write_bytes((folder / name).read_bytes())


if __name__ == "__main__":
    main()
