"""Flows of whole units: disjoint paths, min-cost flows, and the cuts that stop them."""
