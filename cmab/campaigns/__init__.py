"""Campaigns that speak names, and the journal of events underneath them."""
