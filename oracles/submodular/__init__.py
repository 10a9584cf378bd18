"""Sets worth what a submodular function says, by greedy choice."""
