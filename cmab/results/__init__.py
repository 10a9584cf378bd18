"""What `simulate` and `identify` give back, and the tables that sum it up."""
