"""An oracle for user-defined monotone submodular rewards, by greedy choice."""
