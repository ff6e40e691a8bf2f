"""Processes that share a store agree on settings, on the version of the tables and on the time.

Each process that writes is a row of the table `replicas`, with a heartbeat by the database's clock.
The settings that decide what lists users get are one entry of the store, `configuration`. Every
transaction reads that entry, the version of the tables and the time in one statement: a process
whose settings were replaced, or whose code is older than the tables, writes nothing more.
"""

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from secrets import token_hex
from typing import Any, Final

from variegate.engine.experiment import Experiment
from variegate.engine.terms import Rules
from variegate.errors import ConflictError, StoreError, VariegateError
from variegate.model.catalogue import Catalogue
from variegate.store import CONFIGURATION, Head, Reader, ReplicaRow, Store

#: Seconds between two heartbeats.
BEAT_SECONDS: Final = 2.0
#: Seconds without a heartbeat after which a process counts as ended.
EXPIRY_SECONDS: Final = 10.0
#: Settings that are stored with every list, and whether older lists can still close under them.
_LIST_SETTINGS: Final = {
    "aggregation": True,
    "default_reward": True,
    "late": True,
    "wait_seconds": True,
    "memory": False,
    "memory_days": False,
    "mix": False,
}
#: Open lists are counted up to this number.
_MAX_COUNTED: Final = 10_000
#: Difference between this machine's clock and the database's that is logged.
MAX_SKEW_SECONDS: Final = 2.0

_log = logging.getLogger(__name__)


def shared_configuration(experiment: Experiment, rules: Rules) -> str:
    """Return the settings that all replicas must share, as JSON."""
    shared = {
        "policies": dict(experiment.specs),
        "split": dict(experiment.split),
        "seed": experiment.seed,
    }
    return json.dumps(
        {**rules.model_dump(include=set(Rules.model_fields)), **shared}, sort_keys=True
    )


def changed_settings(before: str, after: str) -> dict[str, tuple[object, object]]:
    """Return the settings in which two configurations differ, each with both values."""
    old, new = json.loads(before), json.loads(after)
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


class Replica:
    """One of the processes that write to a store: the present one.

    Parameters
    ----------
    configuration
        What `shared_configuration` returns.
    replace
        Whether to replace replicas with other settings: they stop writing at once.
    """

    def __init__(self, store: Store, configuration: str, *, replace: bool = False) -> None:
        self._store, self._configuration, self._replace = store, configuration, replace
        #: Its name among the replicas of the store
        self.id: Final = token_hex(8)
        self._host = _host()
        #: The settings of the store before this process joined; None for a new store
        self._previous: str | None = None
        self._last_beat = float("-inf")
        self._is_skewed = False

    def join(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Register this process; wait for one with other settings that may just have ended.

        Raises ConflictError if one with other settings is still running.
        """
        waited = 0.0
        while (other := self._try_join()) is not None:
            if waited > EXPIRY_SECONDS + BEAT_SECONDS:
                raise ConflictError(self._refusal(other))
            if waited == 0.0:
                _log.warning(
                    "waiting to see whether replica %s (process %d), which has other settings, "
                    "has ended",
                    other.host,
                    other.pid,
                )
            sleep(BEAT_SECONDS)
            waited += BEAT_SECONDS

    def __enter__(self) -> "Replica":
        self.join()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave_quietly()

    def leave_quietly(self) -> None:
        """Leave, or log why that was not possible: the row goes stale by itself."""
        try:
            self.leave()
        except StoreError as error:
            _log.warning("this replica could not be signed off: %s", error)

    def log_changes(self, experiment: Experiment, catalogue: Catalogue) -> None:
        """Log what this start changes for lists and users, compared with the settings before."""
        if self._previous in (None, self._configuration):
            return
        with self._store.reading() as reader:
            before, after = json.loads(self._previous or "{}"), json.loads(self._configuration)
            for change in describe_changes(reader, before, after, experiment, catalogue):
                _log.warning("%s", change)

    def log_connections(self, processes: int, workers: int) -> None:
        """Log how many connections all replicas may open to the store's server, and its limit.

        Parameters
        ----------
        processes
            That open connections, for each process that writes.
        workers
            Processes that write of this replica.
        """
        budget = self._store.connection_budget()
        if budget is None:
            return
        with self._store.reading() as reader:
            writers = max(len(self.live(reader)), workers)
        total = writers * processes * budget.process
        terms = f"{writers} engines x {processes} processes x {budget.process} connections"
        if budget.server is None:
            _log.info("%s = %d: the pooler must admit as many clients", terms, total)
        elif total <= budget.server:
            _log.info("%s = %d of %d that PostgreSQL admits", terms, total, budget.server)
        else:
            _log.warning(
                "%s = %d, and PostgreSQL admits %d: raise its max_connections, put "
                "?connections=%d behind the store's address, or put PgBouncer in front of it",
                terms,
                total,
                budget.server,
                max(2, budget.server // (writers * processes)),
            )

    def check(self, head: Head) -> None:
        """Raise StoreError if this process must not write any more."""
        if head.schema > self._store.schema:
            raise StoreError(
                f"the store was upgraded by a later version of variegate (tables {head.schema}, "
                f"this process knows {self._store.schema}): restart it with that version"
            )
        if head.configuration not in (None, self._configuration):
            raise StoreError(
                "the store is served with other settings by now: restart this process with the "
                "settings of the other replicas"
            )

    def check_now(self) -> None:
        """Raise StoreError if this process must not write any more."""
        with self._store.reading() as reader:
            head = reader.head()
        self.check(head)

    def beat(self) -> None:
        """Store a heartbeat, if one is due."""
        now = time.monotonic()
        if now - self._last_beat < BEAT_SECONDS:
            return
        with self._store.batch() as batch:
            head = batch.head()
            self.check(head)
            batch.save_replica(self._row(head.now))
        self._last_beat = now
        self._compare_clocks(head.now)

    def leave(self) -> None:
        """Remove this process, and those that ended long ago."""
        with self._store.batch() as batch:
            batch.delete_replicas(self.id, batch.head().now - 60 * EXPIRY_SECONDS)

    def _try_join(self) -> ReplicaRow | None:
        """Register this process, or return a replica that prevents it."""
        with self._store.batch() as batch:
            # Writing the entry first makes replicas that join at the same time wait for each other.
            known = batch.swap_meta(CONFIGURATION, self._configuration)
            head = batch.head()
            if known is not None and known != self._configuration and not self._replace:
                for other in self.live(batch):
                    if other.configuration != self._configuration:
                        batch.set_meta(CONFIGURATION, known)
                        return other
            batch.save_replica(self._row(head.now))
        self._previous = known
        self._last_beat = time.monotonic()
        self._compare_clocks(head.now)
        return None

    def live(self, reader: Reader) -> list[ReplicaRow]:
        """Return all replicas that may still run."""
        now = reader.head().now
        return [
            row
            for row in reader.replicas()
            if now - row.seen < EXPIRY_SECONDS and self._may_run(row)
        ]

    def _may_run(self, row: ReplicaRow) -> bool:
        """Whether a process may still run; for this machine that is known."""
        if row.host != self._host:
            return True
        try:
            os.kill(row.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # another user's process: it runs
        return True

    def _refusal(self, other: ReplicaRow) -> str:
        changes = changed_settings(other.configuration, self._configuration)
        details = "; ".join(
            f"`{name}` {old!r} there, {new!r} here" for name, (old, new) in changes.items()
        )
        return (
            f"replica {other.host} (process {other.pid}) serves this store with other settings "
            f"({details}): give this one the same, stop the other first, or start this one with "
            "--replace-configuration, after which the other writes nothing more"
        )

    def _row(self, now: float) -> ReplicaRow:
        return ReplicaRow(self.id, self._host, os.getpid(), self._configuration, now)

    def _compare_clocks(self, now: float) -> None:
        skew = time.time() - now
        is_skewed = abs(skew) > MAX_SKEW_SECONDS
        if is_skewed and not self._is_skewed:
            _log.warning(
                "this machine's clock is %+.1f s from the database's: lists and deadlines go by "
                "the database's",
                skew,
            )
        self._is_skewed = is_skewed


def describe_changes(
    reader: Reader,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    experiment: Experiment,
    catalogue: Catalogue,
) -> list[str]:
    """Return a sentence for each changed setting that concerns lists or users."""
    changed = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    changes = []
    for name in [name for name in _LIST_SETTINGS if name in changed]:
        change = f"setting `{name}` changed from {before[name]!r} to {after[name]!r}"
        changes.append(f"{change}: it applies to new lists")
        if _LIST_SETTINGS[name]:
            count = reader.count_closing(_MAX_COUNTED + 1)
            many = f"more than {_MAX_COUNTED}" if count > _MAX_COUNTED else str(count)
            changes[-1] += f"; {many} older lists will close under the terms they were given under"
    if "policies" in changed:
        changes += _policy_changes(reader, before["policies"], experiment, catalogue)
    if "split" in changed:
        changes.append(
            f"setting `split` changed from {before['split']!r} to {after['split']!r}: "
            "it applies to new users"
        )
    return changes


def _policy_changes(
    reader: Reader, before: Mapping[str, str], experiment: Experiment, catalogue: Catalogue
) -> Iterator[str]:
    for name, line in before.items():
        if experiment.specs.get(name) == line:
            continue
        users = f"its {reader.count_users(name)} users"
        if name not in experiment.specs:
            yield (
                f"policy `{name}` is no longer served: {users} get another with their next list, "
                "and relearn from the log"
            )
            continue
        effect = "relearn from the log with their next list"
        if _can_restore(name, line, experiment, catalogue):
            effect = "keep their state"
        yield (
            f"policy `{name}` changed from {line!r} to {experiment.specs[name]!r}: {users} {effect}"
        )
    for name in experiment.names:
        if name not in before:
            yield f"policy `{name}` is new: new users may get it"


def _can_restore(name: str, line: str, experiment: Experiment, catalogue: Catalogue) -> bool:
    """Return whether a policy can be restored from the state of one of another line."""
    try:
        state = Experiment({name: line}).new_policy(name, catalogue).state()
        experiment.new_policy(name, catalogue).restore(state)
    except VariegateError:
        return False
    return True


def _host() -> str:
    """Return this machine and its namespace of process ids: a container has its own."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} {namespace}".strip()
