"""Sets from which somebody chooses one entry, or none."""
