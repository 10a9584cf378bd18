"""Sets that fit: a knapsack, and rows of several."""
