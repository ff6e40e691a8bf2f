"""From data to a catalogue that is ready to recommend from."""

from variegate.building.content import content_catalogue, with_new_items
from variegate.building.rated import rated_catalogue

__all__ = ["content_catalogue", "rated_catalogue", "with_new_items"]
