"""The back room's process: ``python -m variegate.service.backroom FD``, which `Messenger` runs."""

import signal
import socket
import sys
from contextlib import suppress

from variegate.errors import VariegateError
from variegate.service.backroom.frames import framed
from variegate.service.backroom.room import News, Room
from variegate.service.desk.batches import MOST, Batches
from variegate.service.desk.settling import Observe, Settler
from variegate.service.desk.shelf import Shelf
from variegate.service.logs import configure_logs
from variegate.service.memory import keep_for_good
from variegate.service.parts import arms_of, catalogue_of, rules_of, warm_arms
from variegate.service.settings import Settings
from variegate.store import Store


def main() -> None:
    """Do what comes through the socket that was handed down, by the settings in its first line."""
    # Who stops the service may mean all of its processes: what is under way is finished first, and
    # the front closes the socket then.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as front:
        settings = Settings.model_validate_json(_first_line(front))
        configure_logs(settings.log_level, settings.log_format)
        try:
            store = Store.open(settings.store)
        except VariegateError as error:
            _say(front, error)
            return
        with store:
            _serve(front, settings, store)


def _serve(front: socket.socket, settings: Settings, store: Store) -> None:
    news = News(front)
    try:
        settler = _settler(settings, store, news.observe)
    except VariegateError as error:
        _say(front, error)
        return
    batches = Batches(
        settler, lambda: settler.close_due(MOST) == MOST, patience=settings.timeout_seconds
    )
    keep_for_good()
    _say(front, None)
    Room(front, batches, news).run()


def _settler(settings: Settings, store: Store, observe: Observe) -> Settler:
    catalogue, arms = catalogue_of(settings), arms_of(settings)
    warm_arms(arms, catalogue)
    shelf = Shelf(catalogue)
    with store.batch() as batch:
        shelf.tie(batch)
        shelf.as_of(batch)
    return Settler(store, shelf, arms, rules_of(settings), observe=observe)


def _say(front: socket.socket, message: VariegateError | None) -> None:
    """Say that all is ready, or why it cannot be, if anybody still wants to know."""
    with suppress(OSError):
        front.sendall(framed(message))


def _first_line(front: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = front.recv(4096)
        if not piece:
            raise SystemExit(0)  # nobody is there
        line += piece
    return line


if __name__ == "__main__":
    main()
