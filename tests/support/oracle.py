"""What is right, said as plainly as possible: sums, minima and `sorted()`."""

import msgspec

from keepscore.domain.ordering import Place, Ranks, Row
from keepscore.domain.scoring import State


def cut(board, at):
    return at // board.resolution_ms * board.resolution_ms


def recorded(event):
    """Where an event is in the ledger's order."""
    return event.seq or 0, event.writer, event.n


def effective(event, events):
    """The time by which an event is among all events of its player in a ranking."""
    if event.seq is None or event.at != event.received:
        return event.at
    return max(other.at for other in events if other.at == other.received and recorded(other) <= recorded(event))


def folded(board, events):
    """The state of one player in one ranking from all of that player's events there."""
    pairs = [(cut(board, e.at), e.amount) for e in events]
    better = min if board.order == "asc" else max
    if board.operator == "best":
        score = better(amount for _, amount in pairs)
        return State(score, min(at for at, amount in pairs if amount == score))
    if board.operator == "sum":
        return State(sum(amount for _, amount in pairs), max(at for at, _ in pairs))
    timed = sorted((effective(event, events), recorded(event), event) for event in events)
    if board.operator == "first":
        time, _, event = timed[0]
        return State(event.amount, cut(board, time))
    score = 0
    for _, _, event in timed:
        score = event.amount if event.kind == "score" else score + event.amount
    return State(score, cut(board, timed[-1][0]))


def counting(events):
    """The events of a board that count: no voids, nor what a void names that was not taken back."""
    verdicts = [(e.kind, e.game_id, tuple(e.metadata["event"])) for e in events if e.kind in ("void", "restore")]
    void = {named for kind, decision, named in verdicts if kind == "void" and ("restore", decision, named) not in verdicts}
    return [e for e in events if e.kind not in ("void", "restore", "hide", "show") and (e.writer, e.n) not in void]


def fold(live, events):
    """All states of a board: ranking → player → state."""
    parts = {}
    for event in counting(events):
        for ranking in live.update(event).rankings:
            parts.setdefault(ranking, {}).setdefault(event.player, []).append(event)
    return {ranking: {p: folded(live.board, mine) for p, mine in players.items()} for ranking, players in parts.items()}


def in_order(board, rows):
    """Rows in the order of a ranking. Sorting is stable, so that what decides most is sorted by last."""
    down = board.order == "desc"
    rows = sorted(rows, key=lambda row: row.player.encode(), reverse=down)
    if board.ties != "player":
        rows.sort(key=lambda row: row.since, reverse=board.ties == "last")
    return sorted(rows, key=lambda row: row.score, reverse=down)


def ranked(board, states):
    """The rows of a ranking, from its states by player."""
    return in_order(board, [Row(player, *state) for player, state in states.items()])


def ranks(board, rows, index):
    """The three rank numbers of the row at an index, or of the one that would come after the last."""
    if index >= len(rows):
        return Ranks(len(rows) + 1, len(rows) + 1, len({row.score for row in rows}) + 1)
    score = rows[index].score
    ahead = [row.score for row in rows if (row.score > score if board.order == "desc" else row.score < score)]
    return Ranks(index + 1, len(ahead) + 1, len(set(ahead)) + 1)


def places(board, rows):
    return {row.player: Place(row.score, row.since, *ranks(board, rows, i), len(rows)) for i, row in enumerate(rows)}


def unplaced(places):
    """The same, whatever the position of the ranking."""
    return [place and msgspec.structs.replace(place, position=None) for place in places]


def behind(board, rows, row):
    """The rows behind one that may be gone or have moved by now."""

    def same_place(other):
        return (other.player, other.score) == (row.player, row.score) and (board.ties == "player" or other.since == row.since)

    return [other for other in rows if not same_place(other) and in_order(board, [other, row])[0] is row]
