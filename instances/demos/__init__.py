"""The demos of the command, each a comparison with pictures."""
