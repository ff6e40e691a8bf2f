"""What one person can do with a policy, told without a terminal or a page."""

from variegate.demo.answers import Answer, Wish, read_answer
from variegate.demo.apart import distances_above, new_in, typical_distances
from variegate.demo.beliefs import Belief, Taste, taste_of, variety_of
from variegate.demo.describing import in_short, shown_attributes
from variegate.demo.session import Session, Turn
from variegate.demo.variety import Contrast, Variety, varieties
from variegate.demo.words import likes_in_words, variety_in_words, wish_in_words

__all__ = [
    "Answer",
    "Belief",
    "Contrast",
    "Session",
    "Taste",
    "Turn",
    "Variety",
    "Wish",
    "distances_above",
    "in_short",
    "likes_in_words",
    "new_in",
    "read_answer",
    "shown_attributes",
    "taste_of",
    "typical_distances",
    "varieties",
    "variety_in_words",
    "variety_of",
    "wish_in_words",
]
