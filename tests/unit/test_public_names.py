"""Public names: each package that users import exports exactly `__all__`, and so does each module to the others."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FOR_USERS = {
    "keepscore": ["Board", "Decay", "Entry", "KeepscoreError", "Leaderboards", "Window", "__version__"],
    "keepscore.access": ["sign_player_token"],
    "keepscore.client": ["Client", "SyncClient"],
    "keepscore.sync": ["Leaderboards"],
}


@cache
def sources() -> dict[str, ast.Module]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("package", FOR_USERS)
def test_a_package_for_users_exports_exactly_these_names(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == FOR_USERS[package]
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("package", ["keepscore", "keepscore.access", "keepscore.client", "keepscore.errors"])
def test_a_package_has_no_public_name_beyond_all(package: str) -> None:
    module = importlib.import_module(package)
    names = {name for name, value in vars(module).items() if not isinstance(value, ModuleType) and not name.startswith("_")}
    assert names - {"annotations"} == {*module.__all__} - {"__version__"}


def test_what_one_module_imports_from_another_is_in_its_all() -> None:
    modules = sources()
    exported = {name: getattr(importlib.import_module(name), "__all__", None) for name in modules}
    missing = [
        f"{name} imports {node.module}.{alias.name}"
        for name, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and exported.get(str(node.module)) is not None
        for alias in node.names
        if alias.name not in exported[str(node.module)] and f"{node.module}.{alias.name}" not in modules
    ]
    assert missing == []


def test_every_name_in_all_exists() -> None:
    for name in sources():
        module = importlib.import_module(name)
        assert [public for public in getattr(module, "__all__", ()) if not hasattr(module, public)] == [], name


def test_a_type_name_has_one_meaning() -> None:
    # The namespaces of the library have twins of the same names, blocking and over HTTP.
    twins = {
        "Administration",
        "Audit",
        "Explanations",
        "Friends",
        "Groups",
        "Leagues",
        "History",
        "Keys",
        "Leaderboards",
        "Matches",
        "Moderation",
        "Players",
    }
    twins |= {"Prizes", "Webhooks"}
    places: dict[str, list[str]] = {}
    for module, tree in sources().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: where for name, where in places.items() if len(where) > 1 and name not in twins} == {}


def test_no_file_exceeds_400_lines() -> None:
    long = {path.name: lines for path in SOURCE.rglob("*.py") if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 400}
    assert long == {}
