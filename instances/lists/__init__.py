"""Click models: users who look at a list of items."""
