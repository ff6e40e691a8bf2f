"""Evaluation: replay, metrics, intervals, simulated users, tuning; `offpolicy` for logs.

Names are imported on first use: the service needs one of them, and `variegate --help` none.
"""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.evaluation.bootstrap import MEASURES as MEASURES
    from variegate.evaluation.bootstrap import Interval as Interval
    from variegate.evaluation.bootstrap import difference as difference
    from variegate.evaluation.bootstrap import interval as interval
    from variegate.evaluation.bootstrap import mean_measure as mean_measure
    from variegate.evaluation.bootstrap import standard_error as standard_error
    from variegate.evaluation.metrics import Scores as Scores
    from variegate.evaluation.metrics import coverage as coverage
    from variegate.evaluation.metrics import diversity as diversity
    from variegate.evaluation.metrics import f_score as f_score
    from variegate.evaluation.metrics import gini as gini
    from variegate.evaluation.metrics import hit_rate as hit_rate
    from variegate.evaluation.metrics import list_diversity as list_diversity
    from variegate.evaluation.metrics import novelty as novelty
    from variegate.evaluation.metrics import recall as recall
    from variegate.evaluation.metrics import scores_of as scores_of
    from variegate.evaluation.replay import PROTOCOLS as PROTOCOLS
    from variegate.evaluation.replay import Protocol as Protocol
    from variegate.evaluation.replay import ReplayTask as ReplayTask
    from variegate.evaluation.replay import Trace as Trace
    from variegate.evaluation.replay import likes_as_rows as likes_as_rows
    from variegate.evaluation.replay import replay_task as replay_task
    from variegate.evaluation.replay import replay_user as replay_user
    from variegate.evaluation.runner import Evaluation as Evaluation
    from variegate.evaluation.runner import evaluate as evaluate
    from variegate.evaluation.simulation import PAPER_RATIOS as PAPER_RATIOS
    from variegate.evaluation.simulation import SimulatedUser as SimulatedUser
    from variegate.evaluation.simulation import Simulation as Simulation
    from variegate.evaluation.simulation import World as World
    from variegate.evaluation.simulation import approximation_ratios as approximation_ratios
    from variegate.evaluation.simulation import draw_taste as draw_taste
    from variegate.evaluation.simulation import draw_world as draw_world
    from variegate.evaluation.simulation import simulate_all as simulate_all
    from variegate.evaluation.simulation import simulated_policies as simulated_policies
    from variegate.evaluation.tuning import SPACE as SPACE
    from variegate.evaluation.tuning import Candidate as Candidate
    from variegate.evaluation.tuning import LearnerSettings as LearnerSettings
    from variegate.evaluation.tuning import TuningResult as TuningResult
    from variegate.evaluation.tuning import tune as tune

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
