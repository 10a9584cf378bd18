"""Trees that must reach nodes: arborescences from a root, Steiner trees between terminals."""
