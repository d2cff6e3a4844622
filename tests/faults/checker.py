"""Holds a recorded history against the ledger: what was acknowledged is there once, what was not at most once, answers are honest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.faults.history import History, Request
from tests.support.redis_load import Answer


class Row(NamedTuple):
    """A recorded event."""

    board: str
    writer: int
    n: int
    player: str
    kind: str
    amount: int
    game: str


#: Reads all events of a history, given its name, as rows.
EVENTS = """
SELECT b.name, e.writer, e.n, e.player, e.kind, e.amount, e.game_id
FROM events e JOIN boards b ON b.id = e.board AND b.version = 1 WHERE e.game_id LIKE '{name}-%' ORDER BY 1, 2, 3
"""


def rows_of(text: str) -> list[Row]:
    """Rows as psql prints them."""
    parts = (line.split("|") for line in text.splitlines())
    return [Row(board, int(writer), int(n), player, kind, int(amount), game) for board, writer, n, player, kind, amount, game in parts]


@dataclass
class Verdict:
    """What became of a history."""

    submissions: int = 0
    acknowledged: int = 0
    #: Games that were acknowledged and are not in the ledger, and those that are there more than once.
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    #: All else that is not as promised.
    wrong: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)

    def __str__(self) -> str:
        parts = [f"{len(found)} {name}: {found[:5]}" for name in ("lost", "doubled", "wrong") if (found := getattr(self, name))]
        return f"{self.submissions} submissions, {self.acknowledged} acknowledged" + "".join(f"\n{part}" for part in parts)


def judge(history: History, rows: list[Row]) -> Verdict:
    """Hold a history against its events, when nothing is under way any more."""
    verdict = Verdict()
    counts = Counter(row.game for row in rows)
    sent = {entry["game_id"]: request for request in history.sent for entry in request.entries}
    for request in history.sent:
        games = [entry["game_id"] for entry in request.entries]
        verdict.submissions += len(games)
        if request.is_acknowledged:
            verdict.acknowledged += len(games)
            verdict.lost += [game for game in games if not counts[game]]
        if len({counts[game] for game in games}) > 1:
            verdict.wrong.append(f"of the batch {request.key} only a part is recorded")
        verdict.wrong += _dishonest(request)
        if request.answers and all(answer.status == 503 for answer in request.answers):
            verdict.wrong += [f"503, and {game} is recorded: {request.answers[-1]}" for game in games if counts[game]]
    verdict.doubled = [game for game, count in counts.items() if count > 1]
    verdict.wrong += [f"nobody sent {game}" for game in counts if game not in sent]
    verdict.wrong += [text for row in rows if row.game in sent for text in _differs(row, sent[row.game])]
    verdict.wrong += [*_out_of_order(rows, sent), *_not_linear(history)]
    return verdict


def _differs(row: Row, request: Request) -> Iterable[str]:
    entry = next(entry for entry in request.entries if entry["game_id"] == row.game)
    if (row.board, row.player) != (request.board, entry["player_id"]):
        yield f"{row} is not what was sent: {request.body}"
    meant = ("score", entry["score"]) if "score" in entry else ("increment", entry["amount"])
    # An absolute score on a board of sums is recorded as what was missing to it.
    if row.kind != "correction" and (row.kind, row.amount) != meant:
        yield f"{row} is not what was sent: {entry}"


def _dishonest(request: Request) -> Iterable[str]:
    """Answers that do not belong to the request, or do not say what they should."""
    for number, answer in enumerate(request.answers):
        told = f"{request.key}: {answer}"
        if answer.status in (200, 202):
            if "scores" in request.body:
                fits = (answer.body["accepted"], answer.body["rejected"]) == (len(request.entries), [])
            else:
                fits = (answer.body["board"], answer.body["player_id"]) == (request.board, request.body["player_id"])
            if not fits:
                yield f"the answer of another request: {told}"
            if answer.body.get("replayed") and (number == 0 or not request.keyed):
                yield f"replayed, and it never came before: {told}"
            if (answer.status == 202) != bool(answer.body.get("pending")):
                yield f"202 means pending: {told}"
            if answer.body.get("spooled") and (request.keyed or request.strong):
                yield f"spooled what needs the ledger: {told}"
        elif answer.status:
            yield from _no_problem(answer, told)


def _no_problem(answer: Answer, told: str) -> Iterable[str]:
    if answer.status not in (503, 504):
        yield f"an error that is neither 503 nor 504: {told}"
    if answer.content_type != "application/problem+json" or not {"type", "title", "status", "detail"} <= answer.body.keys():
        yield f"an error that is not problem+json: {told}"
    elif answer.body["status"] != answer.status or not answer.body["detail"]:
        yield f"an error that does not say what it is: {told}"


def _out_of_order(rows: list[Row], sent: dict[str, Request]) -> Iterable[str]:
    """Numbers without gaps are the ledger's business; what one client sent one after the other must be recorded in that order."""
    last: dict[tuple[str, int, int], tuple[int, str]] = {}
    for row in rows:
        request = sent.get(row.game)
        if request is None or not request.is_sure:
            continue
        name = row.board, row.writer, request.client
        number = int(row.game.split("-")[2])
        if number < last.get(name, (-1, ""))[0]:
            yield f"{row.game} is recorded behind {last[name][1]}"
        last[name] = number, row.game


def _not_linear(history: History) -> Iterable[str]:
    """Readers of a strong board see all that was acknowledged before, nothing that was not sent, and never less than before."""
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for read in history.reads:
        answer, told = read.answer, f"{read.board} {read.player}: {read.answer}"
        if answer.status == 404 and (read.low or seen[read.board, read.player]):
            yield f"unknown, and at least {read.low} was acknowledged: {told}"
        elif answer.status == 200:
            score = answer.body["score"]
            if answer.body.get("stale"):
                yield f"stale: {told}"
            if not max(read.low, seen[read.board, read.player]) <= score <= read.high:
                yield f"not from {max(read.low, seen[read.board, read.player])} to {read.high}: {told}"
            seen[read.board, read.player] = max(score, seen[read.board, read.player])
        elif answer.status not in (0, 404):
            yield from _no_problem(answer, told)
