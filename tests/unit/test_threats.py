"""The threat model names tests: each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threats.md"


def test_every_test_that_the_threat_model_names_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 25
    missing = []
    for path, test in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        if test not in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}:
            missing.append(f"{path}::{test}")
    assert missing == []


def test_every_attack_has_a_test() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## What is defended")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert [row for row in rows if "`tests/" not in row] == []
