"""Settings for every test: hypothesis without a clock, which a busy machine would trip over."""

from hypothesis import settings

settings.register_profile("variegate", deadline=None, derandomize=True)
settings.load_profile("variegate")
