"""The loops: one replication, many replications, compiled or in Python, of regret and of exploration."""
