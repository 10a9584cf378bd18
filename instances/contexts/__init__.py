"""Instances with a context in each round."""
