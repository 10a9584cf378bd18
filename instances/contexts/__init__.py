"""Instances whose rounds come with a context."""
