"""Everything the service can do, without HTTP: slates, feedback, users, items."""

from variegate.engine.catalogue import LiveCatalogue
from variegate.engine.engine import Engine
from variegate.engine.experiment import Experiment
from variegate.engine.feedback import Feedback
from variegate.engine.interactions import Interaction
from variegate.engine.recommend import RecommendRequest
from variegate.engine.terms import Rules

__all__ = [
    "Engine",
    "Experiment",
    "Feedback",
    "Interaction",
    "LiveCatalogue",
    "RecommendRequest",
    "Rules",
]
