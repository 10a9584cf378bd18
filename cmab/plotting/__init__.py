"""Figures for papers: regret curves with bands, learned against true means, drawings of graphs.

Requires matplotlib (extra ``plot``). Curves differ in colour (from a colour-blind safe palette), line style
and marker, so they can also be distinguished in black and white.
"""

from cmab.intervals import Band, band
from cmab.plotting.curves import (
    curves_with_bands,
    failure_curves,
    learned_against_true,
    panels_of_bars,
    panels_of_curves,
    parameter_curves,
    regret_curves,
    sample_bars,
)
from cmab.plotting.graphs import animate, check_animation, draw_graph, layout
from cmab.plotting.style import looks, own_looks, pyplot, save, style

__all__ = [
    "Band",
    "animate",
    "band",
    "check_animation",
    "curves_with_bands",
    "draw_graph",
    "failure_curves",
    "layout",
    "learned_against_true",
    "looks",
    "own_looks",
    "panels_of_bars",
    "panels_of_curves",
    "parameter_curves",
    "pyplot",
    "regret_curves",
    "sample_bars",
    "save",
    "style",
]
