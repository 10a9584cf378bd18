"""Oracles for integral flows: disjoint paths, min-cost flows, and minimum cuts."""
