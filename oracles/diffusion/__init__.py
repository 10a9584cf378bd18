"""How influence spreads: graphs, worlds, cascades and reverse sets, shared with `instances`."""
