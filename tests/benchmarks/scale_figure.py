"""The picture of docs/explanation/scale.md, drawn from the first table of that page with numbers.

Run: python tests/benchmarks/scale_figure.py [FILE]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE, PICTURE = ROOT / "docs/explanation/scale.md", ROOT / "docs/images/scale.png"
SECONDS, GIGABYTES = (0.01, 0.1, 1, 10, 100, 1000), (0.001, 0.01, 0.1, 1, 10, 100)
_NUMBERS = r"\| ([\d.,]+|-) " * 4
ROW = re.compile(r"^\| 10\^(\d+) \| (measured|computed) " + _NUMBERS + r"\|$", re.MULTILINE)


class Row(NamedTuple):
    """A row of the table: seconds of the processor, bytes per arc, and gigabytes."""

    arcs: float
    is_measured: bool
    cascade: float
    constant: float | None
    per_arc: float
    memory: float


def rows() -> list[Row]:
    """Return the rows of the table."""
    found = []
    for power, kind, *numbers in ROW.findall(PAGE.read_text(encoding="utf-8")):
        cascade, constant, per_arc, memory = (
            None if number == "-" else float(number.replace(",", "")) for number in numbers
        )
        found.append(Row(10.0 ** int(power), kind == "measured", cascade, constant, per_arc, memory))
    return found


def draw(file: Path) -> None:
    """Draw seconds and memory against the number of arcs."""
    from cmab.plotting.style import COLOURS, pyplot, style

    with style():
        figure, axes = pyplot().subplots(1, 2, figsize=(7.0, 2.8))
        table = rows()
        measured = [row for row in table if row.is_measured]
        computed = table[len(measured) - 1 :]
        panels = (
            (axes[0], "cascade", "weighted cascade", 0),
            (axes[0], "constant", "all probabilities 0.01", 1),
            (axes[1], "memory", "weighted cascade", 0),
        )
        for panel, field, label, colour in panels:
            for part, line in ((measured, "o-"), (computed, "--")):
                points = [(row.arcs, getattr(row, field)) for row in part if getattr(row, field) is not None]
                name = label if part is measured else None
                panel.loglog(*zip(*points, strict=True), line, color=COLOURS[colour], label=name)
        axes[0].set(xlabel="arcs", ylabel="seconds of the processor")
        axes[1].set(xlabel="arcs", ylabel="memory in GB")
        # As plain text, because small figures omit or cut the powers of a logarithmic axis.
        axes[0].set_yticks(SECONDS, [f"{tick:g}" for tick in SECONDS])
        axes[1].set_yticks(GIGABYTES, [f"{tick:g}" for tick in GIGABYTES])
        axes[0].legend(frameon=False)
        figure.savefig(file, dpi=160)
        pyplot().close(figure)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
