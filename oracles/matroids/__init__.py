"""Families in which greedy is exact: bases of graphic, laminar, linear, transversal and other matroids."""
