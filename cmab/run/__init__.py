"""Runs of learners on problems."""
