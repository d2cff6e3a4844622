"""Every error that Keepscore raises on purpose. Imports nothing of Keepscore; every room may import it. Start with this tree.

    KeepscoreError
    ├── BadInput                    what was sent cannot be taken
    │   ├── MalformedBody           not JSON, or not UTF-8
    │   ├── BodyCutShort            it ends before its end
    │   ├── BodyTooLarge
    │   ├── BodyTooSlow
    │   ├── UnsupportedMediaType    a body without a JSON content type
    │   ├── WrongHost               the request is meant for another host
    │   ├── ForeignOrigin           a web page from elsewhere writes
    │   ├── InvalidField            unknown, missing or of the wrong type
    │   ├── InvalidPlayer
    │   ├── InvalidScore
    │   ├── InvalidTime
    │   ├── InvalidSegment
    │   ├── InvalidPage             limit, offset, rank, around, cursor
    │   ├── InvalidPosition         not a position, or one that is not reached
    │   ├── InvalidBoard            a definition
    │   ├── InvalidPlayToken        forged, expired, or for another player or board
    │   ├── RuleBroken              a rule of the board
    │   └── IdempotencyKeyReused
    ├── NotFound
    │   ├── UnknownBoard
    │   ├── UnknownWindow
    │   ├── UnknownSegment
    │   ├── UnknownPlayer
    │   ├── UnknownTeam
    │   ├── UnknownGroup
    │   ├── UnknownInvite           an invite code
    │   ├── UnknownLeague
    │   ├── UnknownPrize
    │   ├── UnknownDelivery         of a webhook
    │   ├── UnknownKey              an API key
    │   ├── UnknownMatch            no such match on the board
    │   ├── UnknownAppeal
    │   ├── UnknownDecision         that a player could appeal against
    │   ├── UnknownQueueItem        a score that moderators decide about
    │   ├── UnknownSnapshot
    │   ├── UnknownVoid
    │   ├── NotKept             players beyond the archived ones, events that were dropped
    │   └── UnknownRoute
    ├── MethodNotAllowed
    ├── Unauthenticated             no key or token, or one that is not known
    ├── Forbidden                   too little scope, or a board or player that is not one's own
    ├── RateLimited                 too many requests
    ├── TooManySubscriptions        of one connection, key or address
    ├── Conflict
    │   ├── AlreadyAppealed         a player appeals once against a decision
    │   ├── AlreadyDecided          a score that was approved or rejected, or an appeal with a reply
    │   ├── BoardInUse              a roll-up is made from it
    │   ├── CapReached              as many boards or segment values as the configuration allows
    │   ├── ConfirmationNeeded      a definition that would lose or rebuild something
    │   ├── EventsDropped           a definition that needs them
    │   ├── GameCounted             a game counts once for each player
    │   ├── KeyEnded                an API key that has expired or was revoked
    │   ├── MatchRecorded           another match has this id
    │   ├── NotRated                a match for a board without a rating
    │   ├── TakesMatches            a score for a board with a rating
    │   ├── RewardSettled           paid, claimed, held back, or on its way
    │   ├── RolledUp                a roll-up takes nothing itself
    │   ├── StillFollowing          another system takes the scores
    │   ├── NotIncrementable
    │   ├── NothingToUndo           no reset, or one whose grace is over
    │   ├── PlayTokenUsed           a play token counts once
    │   ├── PlayerMerged            a guest who became another account
    │   ├── PositionLost            of another epoch
    │   ├── VersionConflict
    │   ├── WindowClosed
    │   ├── WindowFinal             its winners are decided
    │   └── WindowOpen              there are no final standings yet
    ├── Unavailable                 try again later
    │   ├── InProgress              the same request is still being worked on
    │   ├── Overloaded
    │   ├── PositionNotReached      in the time that a read waits
    │   ├── LedgerUnavailable
    │   │   ├── LedgerAway
    │   │   ├── LedgerReplaced      it may be older than before, and is compared first
    │   │   ├── LedgerFull
    │   │   ├── OutcomeUnknown      a submission may be recorded, or not
    │   │   └── LedgerInUse
    │   ├── EngineUnavailable
    │   │   ├── KeyTaken            one board's key holds something else
    │   │   └── RankingLost         something of a board is missing in the engine
    │   ├── ServiceUnreachable      a client got no connection
    │   └── AnswerLost              a client got no whole answer
    ├── ServiceError                a client got an answer that no other error tells
    ├── NotUsable                   leaderboards that are closed, or belong to another event loop
    └── ConfigError                 the configuration is wrong
        └── NotInstalled            it needs a package that is not there; an ImportError, too

The message says what was wrong, with the value, and what would be right. Status codes are decided at the edge, in one table
(`service/http/problems.py`). `type` is stable: programs may compare it. The first two levels are in `base`, and each branch that goes
deeper has its own module.
"""

from __future__ import annotations

from keepscore.errors.bad_input import (
    BodyCutShort,
    BodyTooLarge,
    BodyTooSlow,
    ForeignOrigin,
    IdempotencyKeyReused,
    InvalidBoard,
    InvalidField,
    InvalidPage,
    InvalidPlayer,
    InvalidPlayToken,
    InvalidPosition,
    InvalidScore,
    InvalidSegment,
    InvalidTime,
    MalformedBody,
    RuleBroken,
    UnsupportedMediaType,
    WrongHost,
)
from keepscore.errors.base import (
    BadInput,
    ConfigError,
    Conflict,
    Forbidden,
    KeepscoreError,
    MethodNotAllowed,
    NotFound,
    NotInstalled,
    NotUsable,
    RateLimited,
    ServiceError,
    TooManySubscriptions,
    Unauthenticated,
    Unavailable,
)
from keepscore.errors.conflict import (
    AlreadyAppealed,
    AlreadyDecided,
    BoardInUse,
    CapReached,
    ConfirmationNeeded,
    EventsDropped,
    GameCounted,
    KeyEnded,
    MatchRecorded,
    NothingToUndo,
    NotIncrementable,
    NotRated,
    PlayerMerged,
    PlayTokenUsed,
    PositionLost,
    RewardSettled,
    RolledUp,
    StillFollowing,
    TakesMatches,
    VersionConflict,
    WindowClosed,
    WindowFinal,
    WindowOpen,
)
from keepscore.errors.not_found import (
    NotKept,
    UnknownAppeal,
    UnknownBoard,
    UnknownDecision,
    UnknownDelivery,
    UnknownGroup,
    UnknownInvite,
    UnknownKey,
    UnknownLeague,
    UnknownMatch,
    UnknownPlayer,
    UnknownPrize,
    UnknownQueueItem,
    UnknownRoute,
    UnknownSegment,
    UnknownSnapshot,
    UnknownTeam,
    UnknownVoid,
    UnknownWindow,
)
from keepscore.errors.unavailable import (
    AnswerLost,
    EngineUnavailable,
    InProgress,
    KeyTaken,
    LedgerAway,
    LedgerFull,
    LedgerInUse,
    LedgerReplaced,
    LedgerUnavailable,
    OutcomeUnknown,
    Overloaded,
    PositionNotReached,
    RankingLost,
    ServiceUnreachable,
)

__all__ = [
    "AlreadyAppealed",
    "AlreadyDecided",
    "AnswerLost",
    "BadInput",
    "BoardInUse",
    "BodyCutShort",
    "BodyTooLarge",
    "BodyTooSlow",
    "CapReached",
    "ConfigError",
    "ConfirmationNeeded",
    "Conflict",
    "EngineUnavailable",
    "EventsDropped",
    "Forbidden",
    "ForeignOrigin",
    "GameCounted",
    "IdempotencyKeyReused",
    "InProgress",
    "InvalidBoard",
    "InvalidField",
    "InvalidPage",
    "InvalidPlayToken",
    "InvalidPlayer",
    "InvalidPosition",
    "InvalidScore",
    "InvalidSegment",
    "InvalidTime",
    "KeepscoreError",
    "KeyEnded",
    "KeyTaken",
    "LedgerAway",
    "LedgerFull",
    "LedgerInUse",
    "LedgerReplaced",
    "LedgerUnavailable",
    "MalformedBody",
    "MatchRecorded",
    "MethodNotAllowed",
    "NotFound",
    "NotIncrementable",
    "NotInstalled",
    "NotKept",
    "NotRated",
    "NotUsable",
    "NothingToUndo",
    "OutcomeUnknown",
    "Overloaded",
    "PlayTokenUsed",
    "PlayerMerged",
    "PositionLost",
    "PositionNotReached",
    "RankingLost",
    "RateLimited",
    "RewardSettled",
    "RolledUp",
    "RuleBroken",
    "ServiceError",
    "ServiceUnreachable",
    "StillFollowing",
    "TakesMatches",
    "TooManySubscriptions",
    "Unauthenticated",
    "Unavailable",
    "UnknownAppeal",
    "UnknownBoard",
    "UnknownDecision",
    "UnknownDelivery",
    "UnknownGroup",
    "UnknownInvite",
    "UnknownKey",
    "UnknownLeague",
    "UnknownMatch",
    "UnknownPlayer",
    "UnknownPrize",
    "UnknownQueueItem",
    "UnknownRoute",
    "UnknownSegment",
    "UnknownSnapshot",
    "UnknownTeam",
    "UnknownVoid",
    "UnknownWindow",
    "UnsupportedMediaType",
    "VersionConflict",
    "WindowClosed",
    "WindowFinal",
    "WindowOpen",
    "WrongHost",
]

# Callers know the errors by this module, also in tracebacks.
for _name in __all__:
    globals()[_name].__module__ = __name__
