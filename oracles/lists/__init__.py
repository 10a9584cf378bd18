"""Ordered lists of arms, of which a user looks at the first ones."""
