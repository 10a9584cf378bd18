"""Campaigns in folders, for people who do not program: options, names, reports, progress and commands."""
