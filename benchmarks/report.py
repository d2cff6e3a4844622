"""The table and the plot that a run ends with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks import plot

RESULTS = Path(__file__).parent / "results"


class Line(NamedTuple):
    """One line of the table: what was measured, against what, and the ratio that is asked for."""

    name: str
    figure: str
    ratio: float
    wanted: str = ""
    right: bool = True


def at_least(name: str, figure: str, ratio: float, wanted: float) -> Line:
    """Return a line whose ratio has to reach a number."""
    return Line(name, figure, ratio, f"≥ {wanted:g}", ratio >= wanted)


def show(lines: Iterable[Line], name: str) -> None:
    """Print the lines as a table and draw them to a file of that name among the results."""
    lines = list(lines)
    RESULTS.mkdir(exist_ok=True)
    console = Console()
    table = Table("measured", "figure", "ratio", "wanted", box=None, pad_edge=False)
    for line in lines:
        table.add_row(line.name, line.figure, f"{line.ratio:.2f}", f"{line.wanted} {'✓' if line.right else '✗'}" if line.wanted else "")
    console.print(table)
    plot.draw([(line.name, line.ratio, line.wanted) for line in lines], RESULTS / name)
    console.print(f"plot: {(RESULTS / name).relative_to(Path.cwd())}")
