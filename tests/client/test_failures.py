"""Calls that fail on the way: retried where that is safe, and never executed twice."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.client.asking import Asking
from tests.client.serving import Stumbling
from variegate.client import AsyncClient, Client
from variegate.errors import ConflictError, NotFoundError, OutcomeUnknownError, StoreError

#: What the proxy does with the first attempt: the request reached the service, or may have.
LOSSES = ["cut", "cut short", "unknown", "bad gateway", "busy"]


@dataclass
class Calling:
    """A call for one user, and what the service knows of it afterwards."""

    #: Makes what the call needs; gives its arguments
    before: Callable[[Asking, str], tuple[Any, ...]]
    #: What was done, as far as it can be seen
    done: Callable[[Asking, str], Any]


def exported(ask: Asking, user: str) -> list[Any]:
    """Return how much of everything there is of a user."""
    return [
        (line["slates"], len(line["lists"]), len(line["events"]), len(line["shown"]))
        for line in ask("export_users")
        if line.get("user") == user
    ]


def nothing(_ask: Asking, _user: str) -> None:
    return None


def listed(ask: Asking, user: str) -> tuple[Any, ...]:
    return ask("recommend", user, 2), {}


def line_of(ask: Asking, user: str) -> tuple[Any, ...]:
    ask("recommend", user, 2)
    lines = [one for one in ask("export_users") if one.get("user") == user]
    ask("forget", user)
    return (lines,)


CALLS = {
    "recommend": Calling(lambda _ask, user: (user, 2), exported),
    "feedback": Calling(listed, exported),
    "add_event": Calling(lambda _ask, user: (user, {"tt0047478": 1}), exported),
    "forget": Calling(lambda ask, user: (ask("recommend", user, 2).user,), exported),
    "import_users": Calling(line_of, exported),
    "user": Calling(lambda ask, user: (ask("recommend", user, 2).user,), exported),
    "history": Calling(lambda ask, user: (ask("recommend", user, 2).user,), exported),
    "drop_prior": Calling(lambda _ask, _user: ("lmdp",), nothing),
    **{
        name: Calling(lambda _ask, _user: (), nothing)
        for name in ("catalogue", "items", "report", "metrics", "ping")
    },
    "prior": Calling(lambda _ask, _user: ("lmdp",), nothing),
    "item": Calling(lambda _ask, _user: ("tt0047478",), nothing),
}
#: Those that change nothing, or that leave nothing more to change when done twice: what is lost
#: makes no difference to them
READS = {name for name, calling in CALLS.items() if calling.done is nothing} | {"user", "history"}
#: Tested one by one below, or never tried again
OTHERS = {"export_users", "fit_prior", "alive", "ready", "close", "add_items", "change_item"}
OTHERS |= {"retire_item", "patch_item", "recommend_many"}
#: Streams; sent again by the caller, since the same items change nothing
OTHERS |= {"import_items", "retire_items", "restore_items"}


@pytest.mark.parametrize(
    ("name", "loss"),
    [(name, loss) for name in CALLS for loss in LOSSES[: 1 if name in READS else 5]],
)
def test_an_answer_that_is_lost_is_never_done_twice(
    ask: Asking, proxy: Stumbling, user: str, name: str, loss: str
) -> None:
    calling, other = CALLS[name], f"{user}, undisturbed"
    given = calling.before(ask, other)
    ask(name, *given)
    expected = calling.done(ask, other)
    given = calling.before(ask, user)
    proxy.script = [loss, loss]

    ask.at(proxy.url)(name, *given)

    assert calling.done(ask, user) == expected
    assert proxy.asked[:3] == proxy.asked[:1] * 3


def test_every_call_of_the_clients_is_tested_here() -> None:
    for kind in (Client, AsyncClient):
        public = {name for name in dir(kind) if not name.startswith("_")}
        assert public == CALLS.keys() | OTHERS


@pytest.mark.parametrize("loss", LOSSES)
def test_a_list_in_place_of_another_is_given_once(
    ask: Asking, proxy: Stumbling, user: str, loss: str
) -> None:
    first = ask("recommend", user, 2)
    proxy.script = [loss]

    second = ask.at(proxy.url)("recommend", user, 2, instead_of=first)

    assert [one.slate_id for one in ask("history", user)] == [second.slate_id, first.slate_id]


def test_the_callers_own_key_gives_the_same_list_again(both: Asking, user: str) -> None:
    first = both("recommend", user, 2, idempotency_key="order-7")

    assert both("recommend", user, 2, idempotency_key="order-7") == first
    assert both("recommend", user, 2, idempotency_key="order-8") != first


@pytest.mark.parametrize("loss", LOSSES)
def test_items_are_added_changed_and_retired_once(
    ask: Asking, proxy: Stumbling, user: str, loss: str
) -> None:
    known = ask("item", "tt0047478")
    item = {
        "id": f"item of {user}",
        "features": list(known.features),
        "distances": dict(known.distances),
    }
    proxy.script = [loss]
    assert ask.at(proxy.url)("add_items", [item]) == (item["id"],)
    proxy.script = [loss]
    assert ask.at(proxy.url)("change_item", item["id"], title="Other") == (item["id"],)
    assert ask.at(proxy.url)("patch_item", item["id"], retired=False) == (item["id"],)
    assert ask("item", item["id"]).title == "Other"
    proxy.script = [loss]
    assert ask.at(proxy.url)("retire_item", item["id"]) is None
    assert ask("item", item["id"]).retired


@pytest.mark.parametrize("loss", LOSSES)
def test_a_fit_that_may_have_been_done_is_not_asked_for_again(
    ask: Asking, proxy: Stumbling, loss: str
) -> None:
    proxy.script = [loss]

    with pytest.raises(OutcomeUnknownError):
        ask.at(proxy.url)("fit_prior", "lmdp")
    assert len(proxy.asked) == 1


@pytest.mark.parametrize("refusal", ["503", "429"])
def test_a_fit_that_was_not_done_is_asked_for_again(
    ask: Asking, proxy: Stumbling, refusal: str
) -> None:
    proxy.script = [refusal]

    with pytest.raises(ConflictError, match="at least 100 users"):
        ask.at(proxy.url)("fit_prior", "lmdp")
    assert len(proxy.asked) == 2


def test_a_user_that_was_never_there_cannot_be_forgotten(
    ask: Asking, proxy: Stumbling, user: str
) -> None:
    proxy.script = ["503"]

    with pytest.raises(NotFoundError):
        ask.at(proxy.url)("forget", user)


@pytest.mark.parametrize(
    ("stumble", "kind"), [("unknown", OutcomeUnknownError), ("503", StoreError)]
)
def test_the_last_error_says_whether_the_outcome_is_known(
    ask: Asking, proxy: Stumbling, user: str, stumble: str, kind: type[StoreError]
) -> None:
    proxy.script = [stumble] * 3

    with pytest.raises(StoreError) as raised:
        ask.at(proxy.url, retries=2)("recommend", user, 1)
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    "stumbles",
    [
        ["drop"],
        ["503"],
        ["429"],
        ["cut", "503", "drop", "cut short"],
    ],
    ids=lambda stumbles: ", ".join(stumbles),
)
def test_feedback_through_stumbles_is_applied_once(
    both: Asking, proxy: Stumbling, user: str, stumbles: list[str]
) -> None:
    slate = both("recommend", user, 3)
    twin = both("recommend", f"{user}, undisturbed", 3)
    both("feedback", twin, {twin.ids[0]: 1})
    proxy.script = list(stumbles)

    result = both.at(proxy.url)("feedback", slate, {slate.ids[0]: 1})

    assert (result.status, result.learnt) == ("learnt", slate.ids)
    assert len(proxy.asked) == len(stumbles) + 1
    assert both("user", user).learnt == both("user", f"{user}, undisturbed").learnt
    (line,) = [one for one in both("export_users") if one.get("user") == user]
    assert sum(event["kind"] == "feedback" for event in line["events"]) == 1


def test_nobody_at_the_address_is_reported_after_all_attempts(both: Asking, user: str) -> None:
    with socket.socket() as taken:  # bound and not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(StoreError, match=r"no response to POST .*Connect.* \(3 attempts\)$"):
            both.at(url, retries=2)("recommend", user)


def test_a_service_that_stays_away_is_reported_in_its_own_words(
    both: Asking, proxy: Stumbling
) -> None:
    proxy.script = ["503"] * 3

    with pytest.raises(StoreError, match=r"^not now \(request r-1\) \(3 attempts\)$"):
        both.at(proxy.url, retries=2)("ping")


def test_a_mute_service_is_given_up_after_the_timeout(both: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"] * 2

    with pytest.raises(StoreError, match=r"no response to GET /v1/ping: .* \(2 attempts\)$"):
        both.at(proxy.url, timeout=0.1, retries=1)("ping")


def test_a_mute_service_is_asked_again(both: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"]

    assert both.at(proxy.url, timeout=1.0)("catalogue").k == 10
    assert proxy.asked == ["GET /v1/catalogue"] * 2


def test_the_deadline_ends_attempts_that_are_left(both: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"] * 5

    with pytest.raises(StoreError, match="no response"):
        both.at(proxy.url, timeout=20.0, deadline=0.2, retries=50)("ping")
    assert len(proxy.asked) == 1


def test_an_export_that_breaks_off_says_so(both: Asking, proxy: Stumbling, user: str) -> None:
    both("recommend", user, 1)
    proxy.script = ["503", "cut short"]

    with pytest.raises(StoreError, match="the response was cut off"):
        both.at(proxy.url)("export_users")
    assert len(proxy.asked) == 2


def test_a_batch_that_breaks_off_is_asked_for_again(
    both: Asking, proxy: Stumbling, user: str
) -> None:
    users = [f"{user} {number}" for number in range(3)]
    proxy.script = ["503", "cut short"]
    again = both.at(proxy.url)

    with pytest.raises(StoreError, match="the response was cut off"):
        again("recommend_many", users, 2, idempotency_key=f"cut-{both.kind}")
    found = again("recommend_many", users, 2, idempotency_key=f"cut-{both.kind}")

    assert sorted(one.user for one in found) == users
    assert [both("user", one).slates for one in users] == [1, 1, 1]


@pytest.mark.parametrize("stumble", ["503", "drop"])
def test_probes_answer_no_at_once(both: Asking, proxy: Stumbling, stumble: str) -> None:
    proxy.script = [stumble] * 2

    assert both.at(proxy.url)("ready") is False
    assert both.at(proxy.url)("alive") is False
    assert proxy.asked == ["GET /readyz", "GET /healthz"]
