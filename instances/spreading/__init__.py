"""Environments of influence spreading in graphs."""
