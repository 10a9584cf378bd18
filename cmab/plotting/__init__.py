"""Figures for papers: regret curves with bands, learned against true means, drawings of graphs.

Requires matplotlib (extra ``plot``). Curves differ in colour (from a colour-blind safe palette), line style
and marker, so they can also be distinguished in black and white.
"""

from cmab.intervals import Band, band
from cmab.plotting._animation import animate, check_animation
from cmab.plotting._curves import curves_with_bands, learned_against_true, regret_curves
from cmab.plotting._exploration import failure_curves, sample_bars
from cmab.plotting._graphs import draw_graph, layout
from cmab.plotting._looks import looks, own_looks
from cmab.plotting._panels import panels_of_bars, panels_of_curves
from cmab.plotting._parameters import parameter_curves
from cmab.plotting._style import pyplot, save, style

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
