"""Oracles for arborescences from a root and Steiner trees between terminals."""
