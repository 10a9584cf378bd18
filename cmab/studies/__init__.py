"""Many runs, planned from one specification, stored and resumed."""
