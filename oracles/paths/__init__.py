"""Shortest and most reliable paths of networkx graphs."""
