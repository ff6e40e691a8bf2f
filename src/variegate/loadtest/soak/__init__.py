"""A service that is killed again and again under load, and a look at what it kept."""

from variegate.loadtest.soak.audit import Audit, audited
from variegate.loadtest.soak.notebook import Notebook, Sent
from variegate.loadtest.soak.results import Kill, Plan, Soak
from variegate.loadtest.soak.run import soaked

__all__ = ["Audit", "Kill", "Notebook", "Plan", "Sent", "Soak", "audited", "soaked"]
