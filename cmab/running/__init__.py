"""The loops of regret and of exploration, in compiled code or in Python, for one or many replications."""
