"""Means that are linear in known features of the arms."""
