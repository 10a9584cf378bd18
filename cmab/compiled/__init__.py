"""The interface to numba and its cache, and the building blocks of compiled rules."""
