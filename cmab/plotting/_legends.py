"""The position of a legend, which must cover neither curves nor other axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from cmab.plotting._style import COLOURS
from cmab.validation import shown

#: With None, `add_legend` chooses the position. With False there is no legend.
Legend = Literal["beside", "inside", "below", False] | None
# Most entries in one column of a legend beside a figure of the usual height.
_TALL = 20
# Most letters of a name if a legend has two columns.
_WIDE = 24
_PLACES: dict[Any, dict[str, Any]] = {
    "beside": {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)},
    "inside": {"loc": "best"},
    "below": {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18)},
}


def add_legend(axes: Any, handles: Sequence[Any], legend: Legend = None) -> None:
    """Add a legend of `handles`, by default beside the only axes of a figure, otherwise inside or below.

    Raises
    ------
    ValueError
        If `legend` is not one of the possible values.
    """
    if legend is False:
        return
    # Only a layout engine makes room for a legend outside the axes; otherwise it would be cut or cover
    # others.
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
        # Below the label of the axis, wherever the label is.
        axes.figure.legend(loc="outside lower center", **settings)
    else:
        axes.legend(**_PLACES[legend], **settings)
