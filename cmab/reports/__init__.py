"""A study's results as one page: comparisons, figures and bounds."""
