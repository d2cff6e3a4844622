"""Caches that are bounded in bytes: what they keep, what they forget, and what they really take."""

from __future__ import annotations

import ast
import random
import tracemalloc
from pathlib import Path

import pytest

from keepscore.caches import ByteCache, bytes_of

SOURCE = Path(__file__).parents[2] / "src" / "keepscore"


@pytest.mark.parametrize("seed", range(5))
def test_the_least_recently_used_go_first_and_bytes_stay_bounded(seed: int) -> None:
    chance = random.Random(seed)
    cache: ByteCache[str, bytes] = ByteCache(50_000)
    used: list[str] = []
    for _ in range(3000):
        key = f"key-{chance.randrange(60)}"
        step = chance.random()
        if step < 0.5:
            size = chance.choice((10, 1000, 5000, 60_000))
            assert cache.put(key, bytes(size), size) == bytes(size)
            used = [other for other in used if other != key] + [key]
        elif step < 0.9:
            found = cache.get(key)
            assert (found is not None) == (key in list(cache))
            if found is not None:
                used = [other for other in used if other != key] + [key]
        elif step < 0.99:
            cache.pop(key)
        else:
            cache.clear()
        assert cache.used_bytes <= 50_000
        assert (cache.used_bytes == 0) == (len(cache) == 0)
        # What is left is in the order of use, and of the latest: whatever was forgotten was used before all that fits.
        left = list(cache)
        used = [key for key in used if key in left]
        assert used == left


def test_one_that_is_larger_than_everything_is_not_kept() -> None:
    cache: ByteCache[str, bytes] = ByteCache(1000)
    cache.put("a", b"x", 10)
    cache.put("b", bytes(1000), 1000)
    assert list(cache) == ["a"]
    cache.put("a", bytes(1000), 1000)
    assert list(cache) == [], "what was there before is not right any more"
    off: ByteCache[str, bytes] = ByteCache(0)
    assert off.put("a", b"x", 1) == b"x"
    assert off.get("a") is None


@pytest.mark.parametrize(("size", "count"), [(10, 20_000), (1000, 5000), (100_000, 200)])
def test_entries_take_no_more_memory_than_they_are_counted_for(size: int, count: int) -> None:
    cache: ByteCache[tuple[str, bytes], bytes] = ByteCache(1 << 30)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for n in range(count):
            body = b"x" * size
            cache.put((f"board-{n}", b"limit=%d" % n), body, bytes_of(body))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken <= cache.used_bytes * 1.05


#: Modules that remember something of each of the program's own queries, whatever clients ask for.
OWN_QUERIES = ("queries.py", "inserts.py")


#: How a dict or a set that has become long is made short.
SHORTENED = ("clear", "popitem", "forget")


def forgets(node: ast.AST) -> bool:
    """Whether a piece of code empties a collection, by a call or by another in its place, or removes entries one by one."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr.strip("_") in SHORTENED:
            return True
        if isinstance(part, ast.Call) and ".pop(next(iter(" in ast.unparse(part):
            return True
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            kept = ast.unparse(part.value) in ("{}", "set()", "dict()", "OrderedDict()", "defaultdict()")
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            if kept and any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets):
                return True
    return False


def bounds_by_entries(tree: ast.AST) -> list[str]:
    """What in a module counts entries, and forgets some or all when there are many."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "functools":
            found += [name.name for name in node.names if name.name in ("cache", "lru_cache")]
        elif isinstance(node, ast.If | ast.While) and "len(" in ast.unparse(node.test) and any(map(forgets, node.body)):
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "code",
    [
        "from functools import lru_cache",
        "if len(self._known) > MAX:\n    self._known.clear()",
        "if len(versions) > MAX:\n    self._forget()",
        "if len(known.of) >= MAX:\n    known.of = {}",
        "if len(self._known) >= MAX:\n    self._known: dict[str, int] = {}",
        "if n and len(self._seen) > MAX:\n    self._seen = set()",
        "while len(self._known) > MAX:\n    self._known.popitem()",
        "while len(self._known) > MAX:\n    self._known.pop(next(iter(self._known)))",
    ],
)
def test_a_bound_on_the_number_of_entries_is_seen(code: str) -> None:
    assert bounds_by_entries(ast.parse(code))


def test_nothing_else_remembers_without_a_bound_in_bytes() -> None:
    """`lru_cache` counts entries, and so does whoever forgets when a dict has become long."""
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if path.parent.name in ("client", "cli") or path.name in OWN_QUERIES:
            continue
        wrong += [f"{path.name}: {found}" for found in bounds_by_entries(ast.parse(path.read_text(encoding="utf-8")))]
    assert wrong == []
