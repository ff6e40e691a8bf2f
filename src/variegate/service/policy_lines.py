"""Whether the lines that name policies in the settings will do, before anything is opened."""

from collections.abc import Mapping

from variegate.catalogue import Catalogue
from variegate.errors import VariegateError
from variegate.policies import Policy
from variegate.policies.spec import parse_policy


def made(name: str, line: str) -> Policy | None:
    """Return the policy of a line over two items, or raise ValueError where there is none.

    It is None for one's own class, and for one with a number for each item: those may not fit
    a catalogue of two, and are made when the real one is open.
    """
    try:
        spec = parse_policy(line)
        if ":" in spec.name or any(isinstance(value, list) for value in spec.options.values()):
            return None
        return spec(Catalogue(["a", "b"], [[1.0, 0.0], [0.0, 1.0]], "cosine"))
    except VariegateError as error:
        raise ValueError(f"`policies.{name}`: {error}") from None


def check_mixable(policies: Mapping[str, str]) -> None:
    """Raise ValueError if a policy draws: the chance of its lists would not be known."""
    for name, line in policies.items():
        policy = made(name, line)
        if policy is not None and getattr(policy, "draws", False):
            raise ValueError(
                f"`mix` must be 0 for policies that draw by themselves, as {name!r} ({line}) "
                "does: the chances of its lists are not known"
            )
