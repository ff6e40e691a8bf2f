"""Features of items from what is known of them: no ratings needed."""

from variegate.content.encoder import Content, Encoder, content_features
from variegate.content.sources import (
    ColumnSource,
    Source,
    VectorSource,
    source_from_json,
    source_to_json,
)
from variegate.content.storage import encoder_from_json, encoder_to_json
from variegate.content.words import in_words, said

__all__ = [
    "ColumnSource",
    "Content",
    "Encoder",
    "Source",
    "VectorSource",
    "content_features",
    "encoder_from_json",
    "encoder_to_json",
    "in_words",
    "said",
    "source_from_json",
    "source_to_json",
]
