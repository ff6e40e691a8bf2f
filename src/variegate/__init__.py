"""Recommendations that learn, from clicks only, what a user likes and how much diversity.

``import variegate as vg`` gives every public name as ``vg.<name>``.
"""

from typing import TYPE_CHECKING

from variegate.lazy import lazy_names

if TYPE_CHECKING:
    from variegate.batch import recommend_all as recommend_all
    from variegate.data import Dataset as Dataset
    from variegate.data import ItemTable as ItemTable
    from variegate.data import content_catalogue as content_catalogue
    from variegate.data import film_catalogue as film_catalogue
    from variegate.data import fit_bpr as fit_bpr
    from variegate.data import load_anime as load_anime
    from variegate.data import load_items as load_items
    from variegate.data import load_movielens_1m as load_movielens_1m
    from variegate.data import load_movielens_100k as load_movielens_100k
    from variegate.data import load_table as load_table
    from variegate.data import make_embeddings as make_embeddings
    from variegate.data import rated_catalogue as rated_catalogue
    from variegate.data import split_users as split_users
    from variegate.errors import VariegateError as VariegateError
    from variegate.evaluation import Evaluation as Evaluation
    from variegate.evaluation import Simulation as Simulation
    from variegate.evaluation import evaluate as evaluate
    from variegate.model import distances as distances
    from variegate.model.candidates import open_catalogue as open_catalogue
    from variegate.model.catalogue import Catalogue as Catalogue
    from variegate.model.constraints import AtLeast as AtLeast
    from variegate.model.constraints import Constraints as Constraints
    from variegate.model.reranking import diversify as diversify
    from variegate.model.search import SEARCHES as SEARCHES
    from variegate.model.shortlist import Shortlist as Shortlist
    from variegate.model.slate import Slate as Slate
    from variegate.model.theory import Confidence as Confidence
    from variegate.model.theory import confidence_width as confidence_width
    from variegate.model.theory import regret_bound as regret_bound
    from variegate.model.utility import Preferences as Preferences
    from variegate.model.utility import Utility as Utility
    from variegate.policies import C2UCB as C2UCB
    from variegate.policies import DC2B as DC2B
    from variegate.policies import EASE as EASE
    from variegate.policies import LMDH as LMDH
    from variegate.policies import LMDP as LMDP
    from variegate.policies import LMDT as LMDT
    from variegate.policies import LSB as LSB
    from variegate.policies import MMR as MMR
    from variegate.policies import POLICIES as POLICIES
    from variegate.policies import CombLinTS as CombLinTS
    from variegate.policies import CombLinUCB as CombLinUCB
    from variegate.policies import Dial as Dial
    from variegate.policies import EpsilonGreedy as EpsilonGreedy
    from variegate.policies import Explanation as Explanation
    from variegate.policies import LinUCB as LinUCB
    from variegate.policies import LogRank as LogRank
    from variegate.policies import Policy as Policy
    from variegate.policies import PolicySpec as PolicySpec
    from variegate.policies import Popular as Popular
    from variegate.policies import RidgePolicy as RidgePolicy
    from variegate.policies import State as State
    from variegate.policies import Uniform as Uniform
    from variegate.policies import explore_slate as explore_slate
    from variegate.policies import make_policy as make_policy
    from variegate.policies import parse_policy as parse_policy
    from variegate.policies import policy_options as policy_options
    from variegate.policies import slate_propensities as slate_propensities
    from variegate.prior import ItemPrior as ItemPrior
    from variegate.prior import Prior as Prior
    from variegate.prior import add_popularity_feature as add_popularity_feature
    from variegate.prior import default_prior as default_prior
    from variegate.prior import fit_prior as fit_prior
    from variegate.prior import fit_prior_from_sums as fit_prior_from_sums
    from variegate.recommender import Recommender as Recommender

__version__ = "0.1.0"

# So that `import variegate` and `variegate --help` do not wait for NumPy and SciPy.
__all__, __getattr__, __dir__ = lazy_names(__name__, __file__, "__version__")
