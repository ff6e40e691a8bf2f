"""Users through the clients: what was learnt, what was shown, out and in."""

import json
from typing import Any

import pytest

from tests.client.asking import Asking
from variegate.client import routes
from variegate.errors import ConflictError, InputError, NotFoundError

SAMURAI = "tt0047478"


def test_what_was_learnt_comes_in_words_and_numbers(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 3, candidates=[SAMURAI])
    ask("feedback", slate, {SAMURAI: 1})

    found = ask("user", user)

    assert found.slates == 1
    assert "History" in found.learnt.words.likes
    weights = {belief.name: belief for belief in found.learnt.relevance}
    assert weights["Japan"].low < 0 < weights["Japan"].weight < weights["Japan"].high
    assert [belief.name for belief in found.learnt.diversity][1] == "genres"
    # The floor of lmdp, shared by four distances, has begun to rise.
    assert 0.35 / 4 < found.learnt.floor < 0.8 / 4


def test_history_goes_over_pages_newest_first(
    ask: Asking, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "_SLATES_PER_PAGE", 2)
    slates = [ask("recommend", user, 1) for _ in range(5)]
    ask("feedback", slates[-1], {slates[-1].ids[0]: 1})

    past = ask("history", user)

    assert [one.slate_id for one in past] == [one.slate_id for one in slates[::-1]]
    assert [one.items[0].reward for one in past] == [1.0, None, None, None, None]
    assert past[0].items[0].learnt
    assert past[0].earned == 1.0


def test_a_forgotten_user_is_not_found(ask: Asking, user: str) -> None:
    ask("recommend", user, 1)

    assert ask("forget", user) is None
    with pytest.raises(NotFoundError, match="no user"):
        ask("user", user)


def test_an_unknown_user_cannot_be_forgotten(ask: Asking, user: str) -> None:
    with pytest.raises(NotFoundError, match="no user"):
        ask("forget", user)


def exported(ask: Asking, name: str) -> dict[str, Any]:
    (found,) = [one for one in ask("export_users") if one.get("user") == name]
    return dict(found)


def test_users_go_out_and_come_in_whole(ask: Asking, user: str) -> None:
    slate = ask("recommend", user, 3)
    ask("feedback", slate, {slate.ids[0]: 1})
    learnt, line = ask("user", user).learnt, exported(ask, user)
    header = ask("export_users")[0]
    ask("forget", user)

    assert ask("import_users", [header, line]) == 1
    assert ask("user", user).learnt == learnt
    assert exported(ask, user) == line


def test_a_user_that_is_here_is_replaced_only_where_asked_for(ask: Asking, user: str) -> None:
    ask("recommend", user, 1)
    line = exported(ask, user)

    assert ask("import_users", [line]) == 1
    ask("recommend", user, 1)
    with pytest.raises(ConflictError, match="is here already with other content"):
        ask("import_users", [line])
    assert ask("import_users", [line], replace=True) == 1


def test_many_users_are_sent_in_pieces(
    ask: Asking, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{user} {number}" for number in range(5)]
    for name in names:
        ask("recommend", name, 1)
    lines = [one for one in ask("export_users") if one.get("user") in names]
    for name in names:
        ask("forget", name)
    monkeypatch.setattr(routes, "_AT_ONCE", 2 * len(json.dumps(lines[0])))

    pieces = list(routes.import_users(lines))

    assert 2 <= len(pieces) < 5
    assert ask("import_users", lines) == 5
    assert [ask("user", name).slates for name in names] == [1] * 5


def test_no_users_are_no_request(ask: Asking) -> None:
    assert ask("import_users", []) == 0


def test_lines_that_were_not_exported_are_refused(ask: Asking) -> None:
    with pytest.raises(InputError, match=r"\(request .+\)$"):
        ask("import_users", [{"user": "x"}])


def test_a_title_with_a_line_separator_does_not_split_a_user(ask: Asking) -> None:
    # U+2028 and U+0085 end a line for `str.splitlines`, and for httpx, but not for JSON lines.
    odd = "a\u2028b\u0085c"
    ask("recommend", "x\u2028y", 1)
    slate = ask("recommend", "odd event", 1)
    ask("feedback", slate, {}, event=odd)

    assert exported(ask, "odd event")["events"][-1]["body"]["event"] == odd
    assert exported(ask, "x\u2028y")["slates"] >= 1
