"""Covering the nodes of one side of a graph by few of the other."""
