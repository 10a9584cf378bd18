"""Moving pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cmab.plotting._style import pyplot, style

Frame = TypeVar("Frame")
_DOTS_PER_INCH = 110


def check_animation(path: str | os.PathLike[str]) -> None:
    """Refuse, before a long run, a file that `animate` could not write."""
    pyplot()
    suffix = Path(path).suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise ValueError(f"the path of an animation must end in .gif or .mp4, got {os.fspath(path)}")
    if suffix == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise FileNotFoundError(
                f"{os.fspath(path)} needs the program ffmpeg, which is not installed; a .gif does without"
            )


def animate(
    draw: Callable[[Any, Frame], object],
    frames: Sequence[Frame],
    *,
    path: str | os.PathLike[str],
    seconds: float = 0.7,
) -> None:
    """Write a GIF or MP4 that shows one frame after the other, the last one three times as long.

    Parameters
    ----------
    draw : callable
        ``draw(axes, frame)`` draws a frame on empty axes, which stand at the same place in all of them.
        Hand the same `layout` to each `draw_graph`, so that nodes stay where they are.
    frames : sequence
        What `draw` is called with.
    path : path-like
        Ends in ``.gif``, or in ``.mp4``, which the program ``ffmpeg`` writes.
    seconds : float
        How long a frame is shown.

    Raises
    ------
    ValueError
        If `path` has another suffix.
    FileNotFoundError
        If ``ffmpeg`` is needed and not installed.
    """
    from matplotlib.animation import FFMpegWriter, PillowWriter

    check_animation(path)
    # A layout made anew for each frame would let the picture jump.
    with style(), pyplot().rc_context({"figure.constrained_layout.use": False}):
        figure = pyplot().figure(figsize=(5.4, 4.9))
        axes = figure.add_axes((0.02, 0.08, 0.96, 0.81))
        kind: Any = PillowWriter if Path(path).suffix.lower() == ".gif" else FFMpegWriter
        writer = kind(fps=1 / seconds)
        with writer.saving(figure, os.fspath(path), _DOTS_PER_INCH):
            for frame in [*frames, *frames[-1:], *frames[-1:]]:
                axes.clear()
                draw(axes, frame)
                writer.grab_frame()
    pyplot().close(figure)
