"""Where a legend stands: it covers neither curves nor neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cmab.plotting._style import COLOURS
from cmab.validation import shown

#: None leaves the choice to `add_legend`; False is no legend at all.
Legend = Literal["beside", "inside", "below", False] | None
# Lines of a legend that stand beside a figure of usual height.
_TALL = 20
# Letters of the longest name that two columns have room for.
_WIDE = 24
_PLACES: dict[Any, dict[str, Any]] = {
    "beside": {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)},
    "inside": {"loc": "best"},
    "below": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18)},
}


def add_legend(axes: Any, handles: Sequence[Any], legend: Legend = None) -> None:
    """Add a legend of `handles` to the axes, by default beside a figure's only ones, else within or below.

    Raises
    ------
    ValueError
        If `legend` is no place.
    """
    if legend is False:
        return
    # A layout leaves room for a legend outside, which would else lie over the neighbour or be cut.
    has_layout = axes.figure.get_layout_engine() is not None
    is_alone = len(axes.figure.axes) == 1
    if legend is None:
        if has_layout and is_alone:
            legend = "beside"
        else:
            legend = "below" if has_layout and len(handles) > len(COLOURS) else "inside"
    if legend not in _PLACES:
        raise ValueError(f"legend must be 'beside', 'inside', 'below' or False, got {shown(legend)}")
    columns = 1 + len(handles) // _TALL if legend == "beside" else 1
    if legend == "below":
        columns = 2 if max(len(handle.get_label()) for handle in handles) <= _WIDE else 1
    settings: dict[str, Any] = {"handles": handles, "frameon": False, "handlelength": 3.2, "ncols": columns}
    if legend == "below" and is_alone and has_layout:
        # Below the label of the axis, however high that stands.
        axes.figure.legend(loc="outside lower center", **settings)
    else:
        axes.legend(**_PLACES[legend], **settings)
