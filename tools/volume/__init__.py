"""What a large history costs: ``python -m tools.volume slates`` and ``... partitions``."""
