"""Users who are shown lists: click models."""
