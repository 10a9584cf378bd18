"""An oracle for probabilistic maximum coverage."""
