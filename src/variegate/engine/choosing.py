"""Policies by any name: those that are served, and all others that fit the catalogue."""

from typing import Any

from variegate.arrays import check_choice
from variegate.engine.experiment import Experiment
from variegate.engine.policy_specs import line_of
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.policies import POLICIES, Policy
from variegate.policies.registry import parse_policy


def any_policy(name: str, catalogue: Catalogue, experiment: Experiment) -> Policy:
    """Return a policy that has learnt nothing, served or not.

    Raises NotFoundError for a name that nobody has, InputError where it does not fit.
    """
    if name in experiment.lines:
        return experiment.new_policy(name, catalogue)
    known = [*experiment.names, *(name for name in POLICIES if name not in experiment.lines)]
    return parse_policy(line_of(check_choice("policy", name, known)))(catalogue)


def label_of(name: str, policy: Policy) -> str:
    """Return what to call a policy; one with a name of the operator's own is told apart by it."""
    return policy.label if name in POLICIES else f"{policy.label} ({name})"


def policies_view(catalogue: Catalogue, experiment: Experiment) -> list[dict[str, Any]]:
    """Return every policy that can work on this catalogue, those that are served first."""
    found = []
    for name in dict.fromkeys([*experiment.names, *POLICIES]):
        try:
            policy = any_policy(name, catalogue, experiment)
            policy.recommend(1, rng=0)
        except InputError:
            continue
        found.append(
            {
                "name": name,
                "label": label_of(name, policy),
                "served": name in experiment.lines,
                "learns": bool(policy.state().arrays),
            }
        )
    return found
