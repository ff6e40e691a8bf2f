"""What can be chosen of LMDP and of its prior."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from variegate.arrays import check_not_negative, check_positive
from variegate.errors import InputError
from variegate.policies import PolicySpec
from variegate.policies.lmdp import EXPLORATION, FLOOR
from variegate.prior import Prior
from variegate.prior.fit import BETA_VARIANCE, NOISE_FACTOR


@dataclass(frozen=True)
class LearnerSettings:
    """Settings of LMDP and of its prior that data cannot be asked for directly.

    Examples
    --------
    >>> settings = LearnerSettings(0.5, opening=0.5, full=0.8, half=50, scales=(3,))
    >>> settings.policy_line("prior.npz")
    'lmdp:prior=prior.npz,exploration=0.5,floor=[0.5,0.8,50]'
    >>> settings.beta(2)
    (0.125, 0.375)
    """

    #: Standard deviations added to an item's estimated reward
    exploration: float = EXPLORATION
    #: The `Floor`: before anything was seen, what it rises to, positions until half of that
    opening: float = FLOOR[0]
    full: float = FLOOR[1]
    half: float = FLOOR[2]
    #: What the fitted noise is multiplied by
    noise_factor: float = NOISE_FACTOR
    #: How far users' betas are believed to spread
    beta_variance: float = BETA_VARIANCE
    #: How much each distance after the first weighs beside it; those not told weigh as much
    scales: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        scales = [float(scale) for scale in self.scales]
        while scales and scales[-1] == 1.0:
            scales.pop()  # so that settings which mean the same are equal
        object.__setattr__(self, "scales", tuple(scales))
        check_not_negative(exploration=self.exploration, opening=self.opening, full=self.full)
        check_positive(
            half=self.half, noise_factor=self.noise_factor, beta_variance=self.beta_variance
        )
        for scale in self.scales:
            check_positive(scales=scale)

    @property
    def floor(self) -> list[float]:
        """The floor as a policy's option says it."""
        return [self.opening, self.full, self.half]

    def beta(self, distances: int) -> tuple[float, ...]:
        """Return the mean of beta: the floor's opening, shared out by the scales."""
        scales = [1.0, *self.scales[: distances - 1]] if distances else []
        scales += [1.0] * (distances - len(scales))
        return tuple(self.opening * scale / sum(scales) for scale in scales)

    def prior_options(self, distances: int) -> dict[str, Any]:
        """Return what `fit_prior` is to be told."""
        return {
            "noise_factor": self.noise_factor,
            "beta": self.beta(distances),
            "beta_variance": self.beta_variance,
        }

    def applied(self, prior: Prior) -> Prior:
        """Return what `fit_prior` would with these settings, from its answer for a factor of 1."""
        louder = replace(prior, noise=self.noise_factor * prior.noise)
        return louder.with_beta(self.beta(prior.m), self.beta_variance)

    def policy(self, prior: Prior) -> PolicySpec:
        """Return the policy from a prior that `applied` gave."""
        options = {"prior": prior, "exploration": self.exploration, "floor": self.floor}
        return PolicySpec("lmdp", options)

    def policy_line(self, prior_path: str | Path) -> str:
        """Return the policy as commands and services are told it."""
        path = str(prior_path)
        if set(path) & set(",[]"):
            raise InputError(f"`prior_path` must have no comma and no bracket, got {path!r}")
        floor = ",".join(f"{number:g}" for number in self.floor)
        return f"lmdp:prior={path},exploration={self.exploration:g},floor=[{floor}]"
