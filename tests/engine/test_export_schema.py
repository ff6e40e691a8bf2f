"""Whatever the numbers in an import, nothing that reads it later fails."""

from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.conftest import Opening
from tests.engine.shop import Shop, catalogue, new_item
from variegate.demo.views import Demo
from variegate.engine import Experiment
from variegate.engine.codecs import pack_slate
from variegate.engine.log_reader import log_source
from variegate.engine.replay import RebuildUser
from variegate.errors import ConflictError, DataError
from variegate.model.slate import Slate
from variegate.service.responses import serialise

ITEMS = catalogue()
POLICIES = {"a": "lmdh:ridge=1", "b": "linucb", "c": "lsb", "d": "lmdp"}
ARMS = Experiment(POLICIES)
IDS = (*ITEMS.ids, "new")
DISTANCES = [h.name for h in ITEMS.distances]
#: Text without control characters, as the schema has it; some that databases stumble over
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
names |= st.sampled_from(["'; --", "%s", "\\u0000", '"', "{", "null", "\u2028", "a/b", ".."])
times = st.floats(0, 2**32, exclude_max=True) | st.sampled_from([0.0, 2**32 - 0.5, 1.7e9])
rewards = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 5e-324])
large = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e6, -1e6, 5e-324, 1e-300])
enormous = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e308, -1e308])


@st.composite
def arrays(draw: st.DrawFn, shape: tuple[int, ...], numbers: st.SearchStrategy[float]) -> Any:
    """Draw an array that is mostly one number, with others here and there."""
    found = np.full(shape, draw(numbers))
    for _ in range(draw(st.integers(0, 3)) if found.size else 0):
        found.flat[draw(st.integers(0, found.size - 1))] = draw(numbers)
    return found


@st.composite
def lists(draw: st.DrawFn, number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Draw a list and its events."""
    k = draw(st.integers(1, 4))
    rows = draw(st.permutations(range(25)))[:k]
    topics = draw(st.sampled_from([0, 1, ITEMS.d]))
    shapes = (k, ITEMS.d), (k, ITEMS.m), (k,), (k, topics)
    z, x, scores, coverage = (draw(arrays(shape, large)) for shape in shapes)
    ids = tuple(IDS[row] for row in rows)
    slate = Slate(np.array(rows, dtype=np.intp), ids, z, x, scores, coverage)
    result = draw(st.lists(st.none() | rewards, min_size=k, max_size=k))
    taught = [one is not None and draw(st.booleans()) for one in result]
    name = f"L{number}"
    line = {
        "id": name,
        "policy": draw(st.sampled_from([*POLICIES, "gone"]) | names),
        "created": draw(times),
        "deadline": draw(st.none() | times),
        "closed": draw(st.booleans()),
        "k": k,
        "items": ids,
        "features": b64encode(pack_slate(slate)).decode(),
        "propensities": draw(
            st.none() | st.lists(st.floats(0, 1, exclude_min=True), min_size=k, max_size=k)
        ),
        "diversity": {h: draw(st.floats(0, 1e6)) for h in DISTANCES} if k > 1 else {},
        "rewards": result,
        "taught": taught,
        "reports": {},
        "earned": draw(st.floats(0, 10_000)),
        "answered": draw(st.booleans()),
        "terms": draw(terms),
        "due": draw(st.none() | times),
        "request": draw(st.none() | st.just(f"r{number}")),
    }
    body = {"taught": {str(at): result[at] for at, done in enumerate(taught) if done}}
    events = [{"time": draw(times), "slate": name, "kind": "close", "body": body}]
    if draw(st.booleans()):
        about = {"rewards": {}, "seen": [], "event": "e", "status": "late", "taught": {}}
        events.append({"time": draw(times), "slate": name, "kind": "feedback", "body": about})
    if draw(st.booleans()):
        instead = {"instead": draw(st.sampled_from([name, "L0", "nowhere"]))}
        events.append({"time": draw(times), "slate": name, "kind": "withdraw", "body": instead})
    return line, events


terms = st.fixed_dictionaries(
    {},
    optional={
        "revision": st.sampled_from(["0", "1", "999999999999999999"]),
        "aggregation": st.sampled_from(["first", "sum"]),
        "default_reward": rewards,
        "late": st.sampled_from(["drop", "learn"]),
        "mix": rewards,
        "dial": st.just({"scale": 1e6}) | st.just({"floor": {"genres": 0.5}}),
        "candidates": st.lists(st.sampled_from(IDS), max_size=3),
        "exclude": st.lists(st.sampled_from(IDS), max_size=3),
        "memory": st.sampled_from([0, 1, 2**52]),
        "memory_days": st.sampled_from([0.0, 1e9]),
        "displaced": st.just([["i1", 2**32 - 1], ["i2", 0]]),
    },
)


@st.composite
def states(draw: st.DrawFn, policy: str) -> Any:
    """Draw a state in the shape of a policy's, or of none."""
    blank = ARMS.new_policy(policy, ITEMS).state() if policy in POLICIES else None
    shapes = {n: a.shape for n, a in blank.arrays.items()} if blank else {"x": (2, 2)}
    if draw(st.integers(0, 4)) == 0:
        shapes = {"gram": (3,), "y": (0,)}
    plain = {
        name: {
            "shape": list(shape),
            "data": b64encode(draw(arrays(shape, large | enormous)).tobytes()).decode(),
        }
        for name, shape in shapes.items()
    }
    named = blank.policy if blank and draw(st.booleans()) else draw(names)
    return {"policy": named, "version": draw(st.sampled_from([1, 0, 65535])), "arrays": plain}


@st.composite
def users(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a line of a user."""
    policy = draw(st.sampled_from([*POLICIES, "gone"]) | names)
    made = [draw(lists(number)) for number in range(draw(st.integers(0, 3)))]
    shown = draw(st.permutations(ITEMS.ids))[: draw(st.integers(0, 24))]
    return {
        "variegate": 2,
        "kind": "user",
        "user": draw(names),
        "policy": policy,
        "created": draw(times),
        "changed": draw(times),
        "slates": draw(st.integers(0, 2**53 - 1)),
        "state": draw(states(policy)),
        "shown": [[item, draw(st.sampled_from([0, 1_700_000_000, 2**32 - 1]))] for item in shown],
        "lists": [line for line, _events in made],
        "events": [event for _line, events in made for event in events],
    }


def look_at_everything(shop: Shop, user: str) -> None:
    """Do all that reads what was imported; raise where something cannot be read."""
    answers = [shop.engine.report(), Demo(shop.engine).overview(60), shop.engine.counts()]
    answers += [
        shop.engine.user(user),
        shop.engine.history(user, 100, None),
        shop.engine.user("ann"),
    ]
    serialise(answers)
    shop.check()
    list(log_source(shop.executor, "the log").logs())
    serialise([shop.give("ann"), shop.give(user), shop.click(user, k=1)])
    shop.engine.close_due()
    b"".join(shop.engine.export_lines())
    shop.do(RebuildUser(user))
    serialise([shop.give(user), shop.engine.user(user)])
    serialise([shop.engine.report(), Demo(shop.engine).overview(60)])


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_can_be_imported_can_be_read(opening: Opening, kind: str) -> None:
    shop = Shop(opening(kind), POLICIES)
    shop.snapshot(new_item())
    shop.click("ann")
    imported = 0

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(line=users())
    def check(line: dict[str, Any]) -> None:
        nonlocal imported
        try:
            shop.take_in([next(shop.engine.export_lines()), line])
        except (DataError, ConflictError):
            return
        imported += 1
        try:
            look_at_everything(shop, line["user"])
        finally:
            if line["user"] != "ann":
                shop.forget(line["user"])

    check()
    assert imported >= 10
