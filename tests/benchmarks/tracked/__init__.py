"""Timings that asv follows: ``cd tests/benchmarks && asv run --environment existing:python --quick``."""
