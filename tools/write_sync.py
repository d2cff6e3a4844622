"""Writes `src/keepscore/sync.py`: the blocking library, made from the async one.

Each public coroutine of `Leaderboards` and its base becomes a method of the same name, signature and description that runs it to its end
in the event loop of a thread of its own. `python tools/write_sync.py` writes the file, `--check` says whether it is up to date.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

SOURCES = {"Leaderboards": Path("src/keepscore/leaderboards.py"), "Lookback": Path("src/keepscore/lookback.py")}
SOURCES["Upkeep"] = Path("src/keepscore/upkeep.py")
TARGET = Path("src/keepscore/sync.py")

HEAD = '''"""The library for programs without an event loop: the same methods, blocking.

Made from `keepscore.leaderboards`, `keepscore.lookback` and `keepscore.upkeep` by `tools/write_sync.py`; changes belong there.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import Any, TypeVar

from keepscore import leaderboards
from keepscore.answers import (
    Around,
    BatchReceipt,
    BoardEvents,
    Count,
    KeeperRun,
    KeeperStatus,
    Lookup,
    PlayerEvents,
    PlayerHistory,
    PlayerPlace,
    Profile,
    Rebuild,
    Receipt,
    Reset,
    Revision,
    Top,
    Verification,
    Windows,
)
from keepscore.boards import Board
from keepscore.entries import Entry
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import BoardInfo, Number, now_ms
from keepscore.replay import Progress, no_progress

__all__ = ["Leaderboards"]

T = TypeVar("T")


class Leaderboards:
    """Boards on a ledger and an engine, for threads. Use it as a context manager; any thread may call it.

    >>> with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...     lb.submit("global", "alice", 1500).rank
    1
    """

    def __init__(self, opened: leaderboards.Leaderboards) -> None:
        self._async = opened
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="keepscore", daemon=True)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def __enter__(self) -> Leaderboards:
        self._thread.start()
        try:
            self._run(self._async.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._run(self._async.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
'''


def generated() -> str:
    """The text of the blocking library."""
    parts = [HEAD]
    for node in [node for name, source in SOURCES.items() for node in _body(source, name)]:
        if isinstance(node, ast.FunctionDef) and node.name == "open":
            parts.append(_opener(node))
        elif isinstance(node, ast.AsyncFunctionDef) and not node.name.startswith("_"):
            parts.append(_method(node))
    return _formatted("\n".join(parts))


def _body(source: Path, name: str) -> list[ast.stmt]:
    (found,) = (node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name)
    return found.body


def _opener(node: ast.FunctionDef) -> str:
    names = ", ".join(argument.arg for argument in node.args.args[1:])
    body = f"return cls(leaderboards.Leaderboards.open({names}))"
    return f"    @classmethod\n    def open({ast.unparse(node.args)}) -> Leaderboards:\n        {_description(node)}\n        {body}\n"


def _method(node: ast.AsyncFunctionDef) -> str:
    assert node.returns is not None, f"{node.name} says what it returns"
    given = [argument.arg for argument in node.args.args[1:]] + [f"{a.arg}={a.arg}" for a in node.args.kwonlyargs]
    call = f"self._run(self._async.{node.name}({', '.join(given)}))"
    returns = ast.unparse(node.returns)
    return f"    def {node.name}({ast.unparse(node.args)}) -> {returns}:\n        {_description(node)}\n        return {call}\n"


def _description(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node, clean=False)
    assert text is not None, f"{node.name} has a description"
    return f'"""{text}"""'


def _formatted(text: str) -> str:
    command = [str(Path(sys.executable).with_name("ruff")), "format", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text() == generated() else f"{TARGET} is not up to date: run make sync")
    TARGET.write_text(generated())
