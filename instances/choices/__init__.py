"""Customers who choose one item of an offered set or no item: discrete choice models."""
