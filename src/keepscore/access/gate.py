"""Whether credentials are asked for, and whether a principal may do what a route does. Knows boards by name only."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from keepscore.access.keyring import Keyring
from keepscore.access.principals import ANONYMOUS, LEVELS, OPEN, Principal
from keepscore.errors import Forbidden, Unauthenticated

__all__ = ["AUTH_MODES", "AuthMode", "BoardAccess", "Demand", "Gate", "check_access"]

#: `auto`: no credentials are asked for until there is a key. `required`: always. `off`: never.
AuthMode = Literal["auto", "required", "off"]
AUTH_MODES: tuple[str, ...] = get_args(AuthMode)

MISSING = "this needs a key: send it as 'Authorization: Bearer ks_…'. 'keepscore keys create NAME --scope …' creates one"


class Gate:
    """The gate of one process."""

    def __init__(self, mode: str, keyring: Keyring) -> None:
        self._mode = mode
        self.keyring = keyring

    @property
    def is_open(self) -> bool:
        """Whether everybody may do everything."""
        return self._mode == "off" or (self._mode == "auto" and not self.keyring.has_keys)

    @property
    def is_trusting(self) -> bool:
        """Whether nobody has asked for keys yet, so that nobody is limited either: the service is on this machine alone."""
        return self._mode == "auto" and not self.keyring.has_keys

    def quick(self, presented: bytes | None) -> Principal | None:
        """Return the principal of a request, where nothing has to be looked up for it."""
        if self.is_open:
            return OPEN
        return ANONYMOUS if presented is None else self.keyring.known(presented)


class BoardAccess(NamedTuple):
    """Who may use a board beside its keys: everybody may read it, players may write to it."""

    is_public: bool
    takes_players: bool


class Demand(NamedTuple):
    """What a route asks of whoever uses it."""

    scope: str
    #: Whether it shows only what the principal may see, and so is for limited ones, too.
    filters: bool
    #: Whether player tokens may use it.
    for_players: bool
    #: Whether it is no score that is written: a board that takes scores from servers only has nothing against it.
    is_no_score: bool = False


def check_access(demand: Demand, principal: Principal, board: str | None, about: BoardAccess | None) -> None:
    """Refuse what a principal may not do. What is not allowed is denied."""
    if principal.player is not None:
        _check_player_token(demand, principal, about)
    elif principal.level < LEVELS[demand.scope]:
        if principal is not ANONYMOUS:
            principal.check_scope(demand.scope)
        if demand.scope != "read" or about is None or not about.is_public:
            raise Unauthenticated(MISSING)
        return
    if board is not None:
        # Everybody may read a public board, also with a key for others.
        if not (demand.scope == "read" and about is not None and about.is_public):
            principal.check_board(board)
    elif principal.is_limited and not demand.filters and principal.player is None:
        raise Forbidden("this route concerns all boards, and the key is limited to some: use a key for all boards")


def _check_player_token(demand: Demand, principal: Principal, about: BoardAccess | None) -> None:
    if not demand.for_players:
        raise Forbidden("player tokens cannot be used here: use a key")
    principal.check_scope(demand.scope)
    if demand.scope != "read" and not demand.is_no_score and about is not None and not about.takes_players:
        raise Forbidden("submit = 'server': this board, or one that it passes scores on to, takes scores with a key, not from players")
