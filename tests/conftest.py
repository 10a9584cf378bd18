"""Settings of the whole suite."""

from hypothesis import settings

# The first call of a kernel compiles; fixed examples, so that a failure on one machine is one everywhere.
settings.register_profile("cmab", deadline=None, derandomize=True)
settings.load_profile("cmab")
