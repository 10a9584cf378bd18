"""Distributions of outcomes, and the environment that plays sets of such arms."""
