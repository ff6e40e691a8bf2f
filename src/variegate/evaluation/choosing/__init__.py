"""Settings for one's own data without a sweep: chosen on training users, and only on those."""

from variegate.evaluation.choosing.choose import choose_settings
from variegate.evaluation.choosing.chosen import Candidate, Chosen
from variegate.evaluation.choosing.folds import training_part
from variegate.evaluation.choosing.measures import Constraints
from variegate.evaluation.choosing.settings import LearnerSettings
from variegate.evaluation.choosing.space import SPACE

__all__ = [
    "SPACE",
    "Candidate",
    "Chosen",
    "Constraints",
    "LearnerSettings",
    "choose_settings",
    "training_part",
]
