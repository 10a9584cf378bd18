"""Animations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from cmab.plotting._style import pyplot, style

Frame = TypeVar("Frame")
_DOTS_PER_INCH = 110


def check_animation(path: str | os.PathLike[str]) -> None:
    """Raise an error, before a long run, if `animate` could not write this file."""
    pyplot()
    suffix = Path(path).suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise ValueError(f"the path of an animation must end in .gif or .mp4, got {os.fspath(path)}")
    if suffix == ".mp4":
        from matplotlib.animation import FFMpegWriter

        if not FFMpegWriter.isAvailable():
            raise FileNotFoundError(
                f"{os.fspath(path)} needs the program ffmpeg, which is not installed; use a .gif instead"
            )


def animate(
    draw: Callable[[Any, Frame], object],
    frames: Sequence[Frame],
    *,
    path: str | os.PathLike[str],
    seconds: float = 0.7,
) -> None:
    """Write a GIF or MP4 that shows the frames in order, the last one three times as long.

    Parameters
    ----------
    draw : callable
        ``draw(axes, frame)`` draws a frame on empty axes, which have the same position in every frame. Pass
        the same `layout` to every call of `draw_graph`, so that nodes do not move.
    frames : sequence
        The second arguments of the calls of `draw`.
    path : path-like
        File to write; its name must end in ``.gif`` or ``.mp4``. An MP4 requires the program ``ffmpeg``.
    seconds : float
        Duration of a frame in seconds.

    Raises
    ------
    ValueError
        If `path` has another suffix.
    FileNotFoundError
        If ``ffmpeg`` is required and not installed.
    """
    from matplotlib.animation import FFMpegWriter, PillowWriter

    check_animation(path)
    # A new layout for each frame would make the picture jump.
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
