"""The one way to numba, its cache, and what every compiled rule is built of."""
