"""Oracles for covers of least cost: set cover and vertex cover."""
