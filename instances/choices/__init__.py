"""Customers choose at most one item of an offered set: discrete choice models."""
