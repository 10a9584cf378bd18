"""Timings that asv follows over the commits: ``cd tests/benchmarks && asv run --environment existing:same --quick``."""
