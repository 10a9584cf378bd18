"""Integer programs: any PuLP model, and matchings."""
