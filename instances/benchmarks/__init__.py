"""Readers of files of public benchmark instances: DIMACS, PACE, STP and OR-Library."""
