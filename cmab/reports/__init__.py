"""The report of a study: one page with comparisons, figures and bounds."""
