"""The local web page of campaigns: pages, and the rules of access."""
