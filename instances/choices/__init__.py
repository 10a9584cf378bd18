"""Customers who choose one entry of a set, or none: discrete choice models."""
