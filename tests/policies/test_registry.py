"""Policies from text: parsed, written, and what is wrong with them."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variegate import LMDH, POLICIES, Catalogue, make_policy
from variegate.errors import InputError, NotFoundError
from variegate.policies import PolicySpec, parse_policy, policy_options
from variegate.policies.registry import split_values

ITEMS = Catalogue(list("abcd"), [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]], "cosine")

OWN = '''
"""Custom policies."""

from variegate import LMDH, Policy


class Backwards(LMDH):
    """LMDH with an option more."""

    name = "backwards"

    def __init__(self, catalogue, *, depth=1, **options):
        super().__init__(catalogue, **options)
        self.depth = depth


class Strict(LMDH):
    """LMDH with an option less."""

    name = "strict"

    def __init__(self, catalogue, *, ridge=1.0):
        super().__init__(catalogue, ridge=ridge)


class HalfDone(Policy):
    """A policy without its methods."""


class Elephant:
    """No policy at all."""
'''

values = st.one_of(
    st.booleans(),
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["growing", "theory", "1", "true", "null"]),
    st.lists(st.floats(0, 9), min_size=1, max_size=3),
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module with custom policies."""
    (tmp_path / "own_policies.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_policies", raising=False)
    return "own_policies"


@pytest.mark.parametrize("name", POLICIES)
def test_every_name_makes_its_policy(name: str) -> None:
    policy = parse_policy(name)(ITEMS)

    assert policy.label == make_policy(name, ITEMS).label
    assert len(policy.recommend(2, rng=0)) == 2


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("lmdh", {}),
        ("lmdh:", {}),
        ("lmdh:ridge=1", {"ridge": 1}),
        ("lmdh:ridge=1e-3,exploration=0.5", {"ridge": 0.001, "exploration": 0.5}),
        (
            "lmdh:normaliser=none,search=non-oblivious",
            {"normaliser": "none", "search": "non-oblivious"},
        ),
        ("lmdh: ridge = 2 , exploration=theory ", {"ridge": 2, "exploration": "theory"}),
        ("mmr:trade-off=0.7", {"trade_off": 0.7}),
        ("dc2b:intercept=true", {"intercept": True}),
        ("dc2b:hyperprior=[1, 2.5],intercept=false", {"hyperprior": [1, 2.5], "intercept": False}),
        ("lmdh:ridge=1,ridge=2", {"ridge": 2}),
    ],
)
def test_options_are_read_as_what_they_are(text: str, options: dict[str, Any]) -> None:
    spec = parse_policy(text)

    assert spec == PolicySpec(text.partition(":")[0], options)
    assert spec(ITEMS).recommend(1, rng=0).items.size == 1


def test_options_reach_the_policy() -> None:
    policy = parse_policy("lmdh:exploration=0.25,normaliser=none")(ITEMS)

    assert isinstance(policy, LMDH)
    assert policy.normaliser == "none"
    assert policy.width(2) == 0.25


def test_a_policy_is_made_from_text_and_options() -> None:
    policy = make_policy("lmdh:exploration=0.25,ridge=2", ITEMS, exploration=0.5)

    assert repr(policy) == f"LMDH({ITEMS!r}, exploration=0.5, ridge=2)"


def test_options_and_their_defaults_are_known() -> None:
    assert policy_options("lmdh")["ridge"] == 50.0
    assert policy_options("lmdh-greedy")["exploration"] == 0.0
    assert policy_options("uniform") == {"normaliser": "growing"}
    assert policy_options("lmdp") == {
        "prior": None,
        "exploration": 0.25,
        "floor": "auto",
        "normaliser": "growing",
        "search": "greedy",
        "shortlist": None,
        "forgetting": 1.0,
        "attention": "all",
    }
    assert policy_options("lmdt") == {"n_samples": 32, **policy_options("lmdp")}


@pytest.mark.parametrize("name", ["lmdp", "lmdt"])
def test_a_policy_with_a_prior_has_no_ridge(name: str) -> None:
    with pytest.raises(NotFoundError, match=rf"`option of {name}` must be one of .*, got 'ridge'"):
        make_policy(name, ITEMS, ridge=2.0)
    with pytest.raises(TypeError, match="ridge"):
        POLICIES[name](ITEMS, ridge=2.0)


@given(options=st.dictionaries(st.sampled_from(["ridge", "exploration", "normaliser"]), values))
def test_what_is_written_is_read_back(options: dict[str, Any]) -> None:
    spec = PolicySpec("lmdh", options)

    assert parse_policy(str(spec)) == spec
    assert hash(parse_policy(str(spec))) == hash(spec)


def test_spec_goes_to_another_process() -> None:
    spec = parse_policy("dc2b:hyperprior=[1,2]")

    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - made one line above


def test_each_call_makes_a_policy_of_its_own() -> None:
    spec = PolicySpec("lmdh")
    first, second = spec(ITEMS), spec(ITEMS)
    slate = first.recommend(2)

    first.update(slate, [1, 0])

    assert first.state() != second.state()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lmhd", r"`policy` must be one of lmdp, .* got 'lmhd': did you mean 'lmdh'\?"),
        ("lmhd:ridge=1", r"got 'lmhd': did you mean 'lmdh'\?"),
        ("epsilongreedy", r"did you mean 'epsilon-greedy'\?"),
        ("", r"`policy` must be one of .* got ''$"),
        (":X", r"`policy` must be one of .* got ''$"),
        (".mine:X", r"`policy` must be one of .* got '\.mine'$"),
        ("lmdh:rigde=1", r"`option of lmdh` must be one of .* got 'rigde': did you mean 'ridge'\?"),
        ("lmdh:catalogue=1", r"`option of lmdh` must be one of .* got 'catalogue'"),
        ("no_such_module:Policy", r"'no_such_module:Policy' is neither a policy nor a module: No "),
    ],
)
def test_unknown_names_are_reported_with_the_nearest(text: str, words: str) -> None:
    with pytest.raises(NotFoundError, match=words) as caught:
        parse_policy(text)

    assert "\n" not in str(caught.value)


def test_option_without_a_value_is_reported() -> None:
    with pytest.raises(
        InputError, match=r"`policy` must read name:option=value,\.\.\., got 'lmdh:ridge'"
    ):
        parse_policy("lmdh:ridge")


def test_own_class_is_found_with_its_options(own: str) -> None:
    policy = parse_policy(f"{own}:Backwards:depth=3,ridge=2")(ITEMS)

    assert policy.label == "LMDH"
    assert vars(policy)["depth"] == 3
    assert str(parse_policy(f"{own}:Strict:ridge=2")) == f"{own}:Strict:ridge=2"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("Strict:depth=3", NotFoundError, r"`option of own_policies:Strict` must be one of ridge,"),
        ("Backward", NotFoundError, r"own_policies has no 'Backward': did you mean 'Backwards'\?"),
        ("Zebra", NotFoundError, r"own_policies has no 'Zebra'$"),
        ("Elephant", InputError, r"'own_policies:Elephant' must be a subclass of "),
        ("HalfDone", InputError, r"must define the methods _explain, _scorer$"),
    ],
)
def test_own_class_that_will_not_do_is_reported(
    own: str, text: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        parse_policy(f"{own}:{text}")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        (" , ", []),
        ("a,b", ["a", "b"]),
        ("[1,2],[3]", ["[1,2]", "[3]"]),
        ("x=[1, 2],y=3", ["x=[1, 2]", "y=3"]),
    ],
)
def test_commas_inside_brackets_do_not_part(text: str, parts: list[str]) -> None:
    assert split_values(text) == parts
