"""No test of the engine is a race against the clock of a busy machine."""

from hypothesis import settings

settings.register_profile("unhurried")
settings.load_profile("unhurried")
