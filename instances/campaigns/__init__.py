"""Campaigns in folders, without programming: options, names, reports, progress and commands."""
