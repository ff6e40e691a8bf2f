"""Calls that go wrong on the way: tried again where that is safe, and never done twice."""

import socket

import pytest

from tests.client.asking import Asking
from tests.client.serving import Stumbling
from variegate.errors import StoreError


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
    ask: Asking, proxy: Stumbling, user: str, stumbles: list[str]
) -> None:
    slate = ask("recommend", user, 3)
    twin = ask("recommend", f"{user}, undisturbed", 3)
    ask("feedback", twin, {twin.ids[0]: 1})
    proxy.script = list(stumbles)

    told = ask.at(proxy.url)("feedback", slate, {slate.ids[0]: 1})

    assert (told.status, told.learnt) == ("learnt", slate.ids)
    assert len(proxy.asked) == len(stumbles) + 1
    assert ask("user", user).learnt == ask("user", f"{user}, undisturbed").learnt
    (line,) = [one for one in ask("export_users") if one.get("user") == user]
    assert sum(event["kind"] == "feedback" for event in line["events"]) == 1


def test_nobody_at_the_address_is_told_after_all_attempts(ask: Asking, user: str) -> None:
    with socket.socket() as taken:  # bound and not listening: nothing answers there
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        with pytest.raises(StoreError, match=r"no answer to POST .*Connect.* \(3 attempts\)$"):
            ask.at(url, retries=2)("recommend", user)


def test_a_service_that_stays_away_is_told_in_its_own_words(ask: Asking, proxy: Stumbling) -> None:
    proxy.script = ["503"] * 3

    with pytest.raises(StoreError, match=r"^not now \(request r-1\) \(3 attempts\)$"):
        ask.at(proxy.url, retries=2)("ping")


def test_a_mute_service_is_given_up_after_the_timeout(ask: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"] * 2

    with pytest.raises(StoreError, match=r"no answer to GET /v1/ping: .* \(2 attempts\)$"):
        ask.at(proxy.url, timeout=0.1, retries=1)("ping")


def test_a_mute_service_is_asked_again(ask: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"]

    assert ask.at(proxy.url, timeout=0.2)("catalogue").k == 10
    assert proxy.asked == ["GET /v1/catalogue"] * 2


def test_the_deadline_ends_attempts_that_are_left(ask: Asking, proxy: Stumbling) -> None:
    proxy.script = ["mute"] * 5

    with pytest.raises(StoreError, match="no answer"):
        ask.at(proxy.url, timeout=20.0, deadline=0.2, retries=50)("ping")
    assert len(proxy.asked) == 1


def test_an_export_that_breaks_off_says_so(ask: Asking, proxy: Stumbling, user: str) -> None:
    ask("recommend", user, 1)
    proxy.script = ["503", "cut short"]

    with pytest.raises(StoreError, match="the answer broke off"):
        ask.at(proxy.url)("export_users")
    assert len(proxy.asked) == 2


@pytest.mark.parametrize("stumble", ["503", "drop"])
def test_probes_answer_no_at_once(ask: Asking, proxy: Stumbling, stumble: str) -> None:
    proxy.script = [stumble] * 2

    assert ask.at(proxy.url)("ready") is False
    assert ask.at(proxy.url)("alive") is False
    assert proxy.asked == ["GET /readyz", "GET /healthz"]
