"""Errors for what cannot be done now: try again later."""

from __future__ import annotations

from keepscore.errors.base import Unavailable

__all__ = [
    "AnswerLost",
    "EngineUnavailable",
    "InProgress",
    "KeyTaken",
    "LedgerAway",
    "LedgerFull",
    "LedgerInUse",
    "LedgerReplaced",
    "LedgerUnavailable",
    "OutcomeUnknown",
    "Overloaded",
    "PositionNotReached",
    "RankingLost",
    "ServiceUnreachable",
]


class InProgress(Unavailable):
    """The same request, with the same idempotency key, is still running."""


class Overloaded(Unavailable):
    """Too many submissions are waiting."""


class PositionNotReached(Unavailable):
    """The ranking did not get to the wanted position in time."""


class LedgerUnavailable(Unavailable):
    """The ledger cannot be used now."""

    #: Whether it is sure that what was sent is not recorded. Where it is not, that has to be settled before anything is sent again.
    nothing_recorded = False


class LedgerAway(LedgerUnavailable):
    """The ledger could not be reached at all."""

    nothing_recorded = True


class LedgerReplaced(LedgerUnavailable):
    """The ledger may be older than before, and takes nothing until it is compared with the rankings."""

    nothing_recorded = True


class LedgerFull(LedgerUnavailable):
    """The ledger's disk is full."""

    nothing_recorded = True


class OutcomeUnknown(LedgerUnavailable):
    """It is not known whether a submission was recorded. With its idempotency key, it can be sent again."""


class LedgerInUse(LedgerUnavailable):
    """Another process has the ledger open."""

    def __init__(self, message: str, url: str | None = None) -> None:
        super().__init__(message)
        #: Where the service that has the ledger open can be reached, if it is a service.
        self.url = url


class EngineUnavailable(Unavailable):
    """The ranking engine does not answer now."""

    #: Whether it answered that it cannot do what it was asked, while nothing says that it could not do anything else.
    is_refused = False
    #: Whether it is sure that nothing has come of what it was sent to keep for the ledger.
    nothing_kept = True


class KeyTaken(EngineUnavailable):
    """A key that a board's ranking needs holds something that is not a ranking of that board."""


class RankingLost(EngineUnavailable):
    """The engine has lost part of a board, which has to be rebuilt from the ledger."""

    def __init__(self, message: str, ranking: tuple[int, str, str, str] = (0, "", "", ""), is_short: bool = False) -> None:
        super().__init__(message)
        #: Whether nothing is lost, but rows were removed that are among the first by now (`keep_top`).
        self.is_short = is_short
        #: The ranking that was found lost: board, window, window id and segment. Clients do not see it.
        self.ranking = ranking


class ServiceUnreachable(Unavailable):
    """No connection to the service: nothing was done."""


class AnswerLost(Unavailable):
    """No complete answer came from the service: the request may or may not have taken effect."""

    def __init__(self, message: str, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        #: The key of the request: sent again with it, the request is done once.
        self.idempotency_key = idempotency_key
