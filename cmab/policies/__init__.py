"""Policies that minimise regret, one family a file."""
