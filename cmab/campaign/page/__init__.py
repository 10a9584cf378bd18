"""The local web page of campaigns: pages, a JSON interface, and the rules of access."""
