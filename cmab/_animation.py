"""Moving pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cmab._plot_style import pyplot, style

Frame = TypeVar("Frame")
_DOTS_PER_INCH = 110


def check_animation(path: str | os.PathLike[str]) -> None:
    """Refuse, before a long run, a file that `animate` could not write."""
    pyplot()
    if Path(path).suffix.lower() != ".gif":
        raise ValueError(f"the path of an animation must end in .gif, got {os.fspath(path)}")


def animate(
    draw: Callable[[Any, Frame], object],
    frames: Sequence[Frame],
    path: str | os.PathLike[str],
    *,
    seconds: float = 0.7,
) -> None:
    """Write a GIF that shows one frame after the other, the last one three times as long.

    Parameters
    ----------
    draw : callable
        ``draw(axes, frame)`` draws a frame on empty axes, which stand at the same place in all of them.
        Hand the same `layout` to each `draw_graph`, so that nodes stay where they are.
    frames : sequence
        What `draw` is called with.
    path : path-like
        Ends in ``.gif``.
    seconds : float
        How long a frame is shown.

    Raises
    ------
    ValueError
        If `path` has another suffix.
    """
    from matplotlib.animation import PillowWriter

    check_animation(path)
    with style(), pyplot().rc_context({"figure.constrained_layout.use": False}):
        figure = pyplot().figure(figsize=(5.4, 4.9))
        axes = figure.add_axes((0.02, 0.08, 0.96, 0.81))
        writer = PillowWriter(fps=1 / seconds)  # type: ignore[arg-type]
        with writer.saving(figure, os.fspath(path), _DOTS_PER_INCH):
            for frame in [*frames, *frames[-1:], *frames[-1:]]:
                axes.clear()
                draw(axes, frame)
                writer.grab_frame()
    pyplot().close(figure)
