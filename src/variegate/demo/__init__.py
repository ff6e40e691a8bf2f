"""What one person can do with a policy, told without a terminal or a page."""

from variegate.demo.session import (
    Answer,
    Contrast,
    Session,
    Turn,
    Variety,
    Wish,
    distances_above,
    in_short,
    new_in,
    read_answer,
    shown_attributes,
    typical_distances,
    varieties,
)
from variegate.policies.beliefs import (
    Belief,
    Taste,
    likes_in_words,
    taste_of,
    variety_in_words,
    variety_of,
    wish_in_words,
)

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
