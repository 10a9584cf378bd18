"""Learning from reports of who joined a cascade, when the outcomes of the ties are not reported."""
