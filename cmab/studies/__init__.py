"""Studies: many runs from one specification, which are stored and can be resumed."""
