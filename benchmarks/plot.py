"""The ratios as bars."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt


def draw(lines: list[tuple[str, float, str]], path: Path) -> None:
    """Draw each ratio beside what is wanted (a mark), on a logarithmic scale."""
    figure, axes = plt.subplots(figsize=(10, 0.5 * len(lines) + 1.5))
    names = [name for name, _, _ in lines]
    bars = axes.barh(names, [ratio for _, ratio, _ in lines], color="#3b6fd4", height=0.6)
    axes.bar_label(bars, fmt="%.2f", padding=4)
    for row, (_, _, wanted) in enumerate(lines):
        found = re.search(r"[\d.]+", wanted)
        if found:
            axes.plot([float(found[0])] * 2, [row - 0.42, row + 0.42], color="#d4553b", linewidth=2)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.set_xlabel("ratio (red: wanted)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
