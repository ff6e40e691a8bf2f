"""Whether the lines that name policies in the settings will do, before anything is opened."""

from collections.abc import Mapping
from typing import Final

from variegate.errors import VariegateError
from variegate.model.catalogue import Catalogue
from variegate.policies import Policy
from variegate.policies.propensities import Planning
from variegate.policies.registry import PolicySpec, parse_policy

#: What a name alone stands for where that is not the policy with its defaults. On features no
#: longer than 1 the paper's caution of 50 outweighs dozens of lists, and nothing that a person
#: does would be seen to matter.
LINES: Final[Mapping[str, str]] = {"lmdh": "lmdh:ridge=1,exploration=0.3"}


def line_of(name: str) -> str:
    """Return the line that a policy's name alone stands for."""
    return LINES.get(name, name)


def made(name: str, line: str) -> Policy | None:
    """Return the policy of a line over two items, or raise ValueError where there is none.

    It is None for one's own class, and for one with a number for each item: those may not fit
    a catalogue of two, and are made when the real one is open.
    """
    try:
        spec = parse_policy(line)
        if ":" in spec.name or any(isinstance(value, list) for value in spec.options.values()):
            return None
        # A prior is of the real catalogue: whether it is there and fits is seen when that is open.
        options = {name: value for name, value in spec.options.items() if name != "prior"}
        few = Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine")
        return PolicySpec(spec.name, options)(few)
    except VariegateError as error:
        raise ValueError(f"`policies.{name}`: {error}") from None


def check_mixable(policies: Mapping[str, str]) -> None:
    """Raise ValueError if a policy draws so that the chances of its lists are not known."""
    for name, line in policies.items():
        policy = made(name, line)
        if policy is not None and policy.draws and not isinstance(policy, Planning):
            raise ValueError(
                f"`mix` must be 0 for policies that draw by themselves, as {name!r} ({line}) "
                "does: the chances of its lists are not known"
            )
