"""Writes the blocking library and the blocking client from the async ones.

Each public coroutine of `Leaderboards` and of its namespaces becomes a method of the same name, signature and description that runs it to
its end in the event loop of its own thread: `src/keepscore/sync/`. The client needs no loop: its text without `async` and `await` is the
blocking one. `python tools/write_sync.py` writes the files, `--check` says whether they are up to date.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

FACADE = Path("src/keepscore/leaderboards.py")
#: The namespaces of the facade: the class, and where it is.
NAMESPACES = {
    "history": ("History", Path("src/keepscore/reading/history.py")),
    "players": ("Players", Path("src/keepscore/players/profiles.py")),
    "friends": ("Friends", Path("src/keepscore/players/friends.py")),
    "groups": ("Groups", Path("src/keepscore/players/groups.py")),
    "matches": ("Matches", Path("src/keepscore/players/matches.py")),
    "leagues": ("Leagues", Path("src/keepscore/players/leagues.py")),
    "explain": ("Explanations", Path("src/keepscore/reading/explanations.py")),
    "admin": ("Administration", Path("src/keepscore/lifecycle/administration.py")),
    "keys": ("Keys", Path("src/keepscore/access/keys.py")),
    "moderation": ("Moderation", Path("src/keepscore/fairplay/moderation.py")),
    "prizes": ("Prizes", Path("src/keepscore/fairplay/prizes.py")),
    "webhooks": ("Webhooks", Path("src/keepscore/fairplay/webhooks.py")),
    "audit": ("Audit", Path("src/keepscore/fairplay/audit.py")),
}
#: The class methods that make leaderboards.
OPENERS = ("open", "configured")
TARGET = Path("src/keepscore/sync/__init__.py")
#: Where each namespace goes.
NAMESPACE_TARGETS = {namespace: TARGET.with_name(f"{namespace}.py") for namespace in NAMESPACES}

CLIENT = Path("src/keepscore/client")
#: Modules of the client that are made from others.
TWINS = {
    CLIENT / f"sync_{name}.py": CLIENT / f"{name}.py"
    for name in (
        "sending",
        "namespaces",
        "keys",
        "friends",
        "groups",
        "explanations",
        "matches",
        "leagues",
        "moderation",
        "prizes",
        "webhooks",
        "audit",
        "client",
    )
}
#: What the text of a module becomes in its twin.
BLOCKING = {
    # What has no end is for programs that can do something else meanwhile.
    r"from keepscore\.client\.following import LiveClient\n": "",
    r"\(Sender, LiveClient\)": "(Sender)",
    r"\basync (def|with|for)\b": r"\1",
    r"\bawait ": "",
    r"\b__a(enter|exit)__": r"__\1__",
    r"\ba(close|iter_bytes)\b": r"\1",
    r"\bAsyncClient\b": "Client",
    r"\basyncio\b": "time",
    r"\bclient\.(sending|namespaces|keys|friends|groups|explanations|matches|moderation|prizes|webhooks|audit)\b": r"client.sync_\1",
    r"\bclient\.leagues\b": r"client.sync_leagues",
    r"(?<!\.)\b(Sender|Send|Client|History|Players|Friends|Groups|Explanations|Matches|Administration|Keys|Moderation|Audit)\b": r"Sync\1",
    r"(?<!\.)\b(Prizes|Webhooks|Leagues)\b": r"Sync\1",
    r"\ban async context\b": "a context",
}

IMPORTS = """
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any

from keepscore.access.keys import DEFAULT_OVERLAP
from keepscore.access.player_tokens import DEFAULT_TTL
from keepscore.config import Settings
from keepscore.domain.results.access import ApiKey, NewKey, NewPlay, PlayerStandings, PlayerToken
from keepscore.domain.results.audit import AuditCheck, AuditPage
from keepscore.domain.results.explanations import Needs, Why
from keepscore.domain.results.friends import BoardView, FriendList, FriendsBoard
from keepscore.domain.results.groups import GroupList, InviteCode, NewGroup, PlayerGroup
from keepscore.domain.certificates import PublicKey
from keepscore.domain.results.leagues import LeagueHistory, LeagueSimulation, PlayerLeague
from keepscore.domain.results.matches import HeadToHead, MatchBatch, MatchReceipt, PlayerMatches, PlayerRatings
from keepscore.domain.results.distribution import Distribution
from keepscore.domain.results.players import DeletedProfile, FoundPlayers, Profile, ProfileBatch, Segments
from keepscore.domain.results.teams import Team
from keepscore.domain.results.prizes import Certificate, PrizeStatus, RewardStatus, Winners, WinnersCheck
from keepscore.domain.results.webhooks import Deliveries, Retried
from keepscore.domain.results.back_testing import RuleTest
from keepscore.domain.results.review import Appeal, AppealPage, AppealState, QueueItem, QueuePage
from keepscore.domain.results.moderation import Erasure, Merge, PlayerDecision, PlayerExport, RestrictedPlayer, Void, VoidReport
from keepscore.domain.results.standings import (
    Around,
    BatchReceipt,
    BoardEvents,
    BoardInfo,
    Count,
    Deleted,
    KeeperRun,
    KeeperStatus,
    Lookup,
    PlayerEvents,
    PlayerHistory,
    PlayerPlace,
    Rebuild,
    Receipt,
    Reset,
    Revision,
    Snapshot,
    Snapshots,
    Top,
    Verification,
    Windows,
)
from keepscore.domain.boards import Board
from keepscore.domain.imports import ImportReceipt, NewPart, Part
from keepscore.domain.inputs import Entry, Number, Progress, no_progress
from keepscore.domain.key_places import RankingPlace
from keepscore.errors import KeepscoreError
from keepscore.leaderboards import now_ms
from keepscore.loop_thread import LoopThread
"""

NAMESPACE_IMPORTS = "\n".join(f"from keepscore.sync.{namespace} import {name}" for namespace, (name, _) in sorted(NAMESPACES.items()))
NAMESPACES_MADE = "\n".join(f"        self.{namespace} = {name}(self)" for namespace, (name, _) in NAMESPACES.items())

HEAD = f'''"""The library for programs without an event loop: the same methods, blocking.

Imports `leaderboards` and below. Generated from `keepscore.leaderboards` by `tools/write_sync.py`: change that instead.
"""
{IMPORTS}
from keepscore import leaderboards
{NAMESPACE_IMPORTS}

__all__ = ["Leaderboards"]


class Leaderboards:
    """Boards on a ledger and an engine, for threads. The first call opens them; `close`, or `with`, closes them. Any thread may call them.

    >>> with Leaderboards.open(ledger="sqlite:///:memory:", boards=[Board("global")]) as lb:
    ...     lb.submit("global", "alice", 1500).rank
    1
    """

    def __init__(self, boards: leaderboards.Leaderboards) -> None:
        self._async = boards
        self._thread = LoopThread(boards)
        self._run = self._thread.run
{NAMESPACES_MADE}

    def __enter__(self) -> Leaderboards:
        try:
            self._run(self._async.__aenter__())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Finish running calls, and close ledger and engine. Later calls raise NotUsable; closing again does nothing."""
        self._thread.close()
'''

HEAD_NAMESPACE = f"""{IMPORTS}
if TYPE_CHECKING:
    from keepscore.sync import Leaderboards

"""


def generated() -> str:
    """Return the text of the blocking library."""
    parts = [HEAD]
    facade = _class(FACADE, "Leaderboards")
    parts += [_opener(node) for node in facade.body if isinstance(node, ast.FunctionDef) and node.name in OPENERS]
    parts += [_method(node, "self", "") for node in _coroutines(facade) if node.name != "close"]
    return _formatted("\n".join(parts))


def generated_namespace(namespace: str) -> str:
    """Return the text of one namespace of the blocking library."""
    name, source = NAMESPACES[namespace]
    module = ".".join(source.with_suffix("").parts[1:])
    found = _class(source, name)
    title = f"The namespace `{namespace}` of the blocking library."
    parts = [f'"""{title}\n\nMade from `{module}` by `tools/write_sync.py`; changes belong there.\n"""']
    parts.append(f'{HEAD_NAMESPACE}__all__ = ["{name}"]\n')
    parts.append(f"\nclass {name}:\n    {_description(found)}\n")
    parts.append("    def __init__(self, leaderboards: Leaderboards) -> None:\n        self._leaderboards = leaderboards\n")
    parts += [_method(node, "self._leaderboards", f".{namespace}") for node in _coroutines(found)]
    return _formatted("\n".join(parts))


def _class(source: Path, name: str) -> ast.ClassDef:
    (found,) = (node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name)
    return found


def _coroutines(node: ast.ClassDef) -> list[ast.AsyncFunctionDef]:
    return [method for method in node.body if isinstance(method, ast.AsyncFunctionDef) and not method.name.startswith("_")]


def _opener(node: ast.FunctionDef) -> str:
    names = ", ".join(argument.arg for argument in node.args.args[1:])
    body = f"return cls(leaderboards.Leaderboards.{node.name}({names}))"
    return (
        f"    @classmethod\n    def {node.name}({ast.unparse(node.args)}) -> Leaderboards:\n        {_description(node)}\n        {body}\n"
    )


def _method(node: ast.AsyncFunctionDef, facade: str, namespace: str) -> str:
    assert node.returns is not None, f"{node.name} says what it returns"
    given = [argument.arg for argument in node.args.args[1:]] + [f"{a.arg}={a.arg}" for a in node.args.kwonlyargs]
    call = f"{facade}._run({facade}._async{namespace}.{node.name}({', '.join(given)}))"
    returns = ast.unparse(node.returns)
    return f"    def {node.name}({ast.unparse(node.args)}) -> {returns}:\n        {_description(node)}\n        return {call}\n"


def _description(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    text = ast.get_docstring(node, clean=False)
    assert text is not None, f"{node.name} has a description"
    return f'"""{text}"""'


def _formatted(text: str) -> str:
    for command in (["check", "--select", "F401,I", "--fix-only"], ["format"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command, "--stdin-filename", str(TARGET.with_name("any.py")), "-"]
        text = subprocess.run(ruff, input=text, text=True, capture_output=True, check=True).stdout
    return text


def twin(source: Path) -> str:
    """Return the text of a blocking module of the client."""
    head, _, rest = source.read_text().partition("\n\n")
    for pattern, replacement in BLOCKING.items():
        rest = re.sub(pattern, replacement, rest)
    name = ".".join(source.with_suffix("").parts[1:])
    title = head.strip('"').removesuffix(".")
    return _formatted(f'"""{title}, blocking.\n\nMade from `{name}` by `tools/write_sync.py`; changes belong there.\n"""\n\n{rest}')


if __name__ == "__main__":
    texts = {TARGET: generated(), **{target: twin(source) for target, source in TWINS.items()}}
    texts |= {target: generated_namespace(namespace) for namespace, target in NAMESPACE_TARGETS.items()}
    if "--check" in sys.argv[1:]:
        old = [str(target) for target, text in texts.items() if not target.exists() or target.read_text() != text]
        sys.exit(f"{', '.join(old)}: not up to date, run make sync" if old else 0)
    for target, text in texts.items():
        target.write_text(text)
