"""The fold of a `last` or `first` ranking from events that come in the order in which the ledger took them. Pure."""

from __future__ import annotations

from keepscore.domain.boards import Board
from keepscore.domain.scoring import Event, Seen, State, Where, amount_of, cut, fold_for, next_fold, place
from keepscore.domain.windows import FOREVER_MS

__all__ = ["OrderedFold"]


class OrderedFold:
    """The states of one ranking by player, and the full times that they do not have.

    It gives what `fold_all` gives, but for players who are `needs_restate`: these have to be folded from all of their events.
    """

    __slots__ = ("_board", "_fold", "_folded_next", "_taken", "_times", "needs_restate", "states")

    def __init__(self, board: Board, states: dict[str, State]) -> None:
        self._board = board
        self._fold = fold_for(board)
        self._folded_next = next_fold(board)
        self.states = states
        #: Of each state, the full time of the event that it has its time from, and the latest that the service gave to one in it.
        self._times: dict[str, tuple[int, int]] = {}
        #: Of states whose full times are not known, the highest number of an event that may be in them.
        self._taken: dict[str, Seen] = {}
        self.needs_restate: set[str] = set()

    def begin_with(self, player: str, state: State) -> None:
        """Begin with the state of events that are earlier than all that come."""
        self.states[player] = state
        self._times[player] = state.since, state.since

    def take_up(self, player: str, state: State, seq: int) -> None:
        """Begin with a state of events that have numbers up to `seq`; whatever has a higher one is not among them."""
        self.states[player] = state
        # Whether a client gave the time is not known.
        self._taken[player] = Seen(seq, FOREVER_MS)

    def start_over(self) -> None:
        """Forget all states."""
        for known in (self.states, self._times, self._taken):
            known.clear()

    def add(self, event: Event) -> None:
        """Fold one more event. O(1)."""
        board, player, at = self._board, event.player, event.at
        is_given = at == event.received
        state, amount = self.states.get(player), amount_of(board, event)
        if state is None:
            self.states[player] = self._fold(None, event.kind, amount, cut(board, at))
            self._times[player] = at, at if is_given else 0
            return
        where: Where
        if player in self._times:
            time, latest = self._times[player]
            effective = max(at, latest) if is_given and event.seq else at
            if is_given:
                latest = max(at, latest)
            where = "later" if effective >= time else "earlier"
            if (where == "later") == (board.operator == "last"):
                time = effective
            self._times[player] = time, latest
        else:
            effective = at
            where = place(state.since, board.resolution_ms, at, event.received, self._taken[player], event.seq or 0)
            if where == "later" and board.operator == "last" and (event.seq or 0) > self._taken[player].seq:
                # What the service gave before is earlier than this: it does not matter how much.
                self._times[player] = at, at if is_given else 0
        new = self._folded_next(state, where, event.kind, amount, effective)
        if new is None:
            self.needs_restate.add(player)
        else:
            self.states[player] = new
