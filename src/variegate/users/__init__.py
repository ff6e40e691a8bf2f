"""Who answers: the people that a policy is tried on."""

from variegate.users.simulated import SimulatedUser, clicks

__all__ = ["SimulatedUser", "clicks"]
