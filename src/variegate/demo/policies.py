"""Policies that the page can compare: the served ones, and all others that fit the catalogue."""

from typing import Any

from variegate.arrays import check_choice
from variegate.engine.experiment import Experiment, default_spec
from variegate.errors import InputError
from variegate.model.catalogue import Catalogue
from variegate.policies import POLICIES, Policy
from variegate.policies.registry import parse_policy


def make_policy(name: str, catalogue: Catalogue, experiment: Experiment) -> Policy:
    """Return a policy that has learnt nothing, served or not.

    Raises NotFoundError for an unknown name, InputError if the policy does not fit the catalogue.
    """
    if name in experiment.specs:
        return experiment.new_policy(name, catalogue)
    known = [*experiment.names, *(name for name in POLICIES if name not in experiment.specs)]
    return parse_policy(default_spec(check_choice("policy", name, known)))(catalogue)


def policy_label(name: str, policy: Policy) -> str:
    """Return a policy's label, with the operator's name for it where that is another one."""
    return policy.label if name in POLICIES else f"{policy.label} ({name})"


def list_policies(catalogue: Catalogue, experiment: Experiment) -> list[dict[str, Any]]:
    """Return every policy that can work on this catalogue, the served ones first."""
    found = []
    for name in dict.fromkeys([*experiment.names, *POLICIES]):
        try:
            policy = make_policy(name, catalogue, experiment)
            policy.recommend(1, rng=0)
        except InputError:
            continue
        found.append(
            {
                "name": name,
                "label": policy_label(name, policy),
                "served": name in experiment.specs,
                "learns": bool(policy.state().arrays),
            }
        )
    return found
