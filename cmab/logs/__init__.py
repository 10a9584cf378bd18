"""Logs of anything: read from tables, and what another rule would have earned on them."""
