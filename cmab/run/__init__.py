"""Running learners on instances: `simulate`, `identify`, `compare`, `plan` and `Study`, and their results."""
