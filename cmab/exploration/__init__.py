"""Explorers, one paper or family a file."""
