"""Commands about priors: what is believed of users before their first list."""

from variegate.cli.priors.fit import fit_prior

__all__ = ["fit_prior"]
