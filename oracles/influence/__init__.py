"""Choosing seeds: greedy on reverse sets with a certificate, a budget, repaired sets, heuristics."""
