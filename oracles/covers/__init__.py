"""Covers at least cost: of elements by sets, of edges by nodes."""
