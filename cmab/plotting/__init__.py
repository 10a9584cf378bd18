"""Figures for papers: regret curves with bands, samples, points with intervals, drawings of graphs.

Requires matplotlib (extra ``plot``). Curves differ in colour (from a colour-blind safe palette), line style
and marker, so they can also be distinguished in black and white.
"""

from cmab.intervals import band
from cmab.plotting.curves import curves_with_bands, panels_of_curves, regret_curves, sample_bars
from cmab.plotting.graphs import draw_graph, layout
from cmab.plotting.style import looks, pyplot, save, style

__all__ = [
    "band",
    "curves_with_bands",
    "draw_graph",
    "layout",
    "looks",
    "panels_of_curves",
    "pyplot",
    "regret_curves",
    "sample_bars",
    "save",
    "style",
]
