"""Environments in which influence spreads."""
