"""What values may be, as the description of the API states it: ranges, lengths and patterns.

Each comes from the constant that the check of the value uses. A check says more than a pattern can, and its message names the value; so
nothing here refuses anything.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec

from keepscore.domain.board_fields import BOUNDS, NAME_PATTERN, SEGMENT_PATTERN, RankKind, WindowName
from keepscore.domain.boards import MAX_SCORE
from keepscore.domain.friends import MAX_FRIENDS
from keepscore.domain.imports import KEY_PATTERN
from keepscore.domain.positions import POSITION_PATTERN
from keepscore.domain.profiles import URL_BYTES
from keepscore.domain.values import MAX_ID_BYTES, TEXT_PATTERN
from keepscore.players.people_of_boards import MAX_FOUND
from keepscore.reading.among import MAX_AMONG
from keepscore.reading.distribution import MAX_BINS
from keepscore.reading.history import MAX_BOARD_EVENTS, MAX_EVENTS, MAX_WINDOWS
from keepscore.reading.live.specs import MAX_TOP
from keepscore.reading.reader import MAX_AROUND, MAX_LOOKUP
from keepscore.reading.snapshots import MAX_SNAPSHOT_ID
from keepscore.reading.view import MAX_LIMIT, MAX_OFFSET, MAX_RANK
from keepscore.writing.batches import MAX_BATCH
from keepscore.writing.checks import MAX_SEGMENT_BYTES

__all__ = [
    "PATHS",
    "SCORE_RANGE",
    "TEXT",
    "AroundCount",
    "BinCount",
    "BoardEventCount",
    "EventCount",
    "FoundCount",
    "FriendCount",
    "FriendIds",
    "FriendLimit",
    "ImportKeys",
    "LiveNeighbours",
    "LiveRows",
    "NumberField",
    "Offset",
    "PageLimit",
    "PictureUrl",
    "PlayerList",
    "PlayerName",
    "PlayerText",
    "PositionText",
    "RankName",
    "Region",
    "ScoreBound",
    "ScoreList",
    "SegmentFields",
    "SegmentName",
    "TextField",
    "Time",
    "TopCount",
    "WindowChoice",
    "WindowCount",
    "WindowList",
]


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _meta(**schema: Any) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema=schema)


def _from_to(least: int, most: int) -> msgspec.Meta:
    return _meta(minimum=least, maximum=most)


TEXT = {"minLength": 1, "maxLength": MAX_ID_BYTES, "pattern": _whole(TEXT_PATTERN)}
_BOARD_NAME = BOUNDS["Board.name"]
_BOARD = {"type": "string", "minLength": _BOARD_NAME.least, "maxLength": _BOARD_NAME.most, "pattern": _whole(NAME_PATTERN)}
SCORE_RANGE = {"minimum": -MAX_SCORE, "maximum": MAX_SCORE}
_WINDOWS = list(get_args(WindowName))

#: A text that is kept and shown: a game's id, a name.
TextField = Annotated[str, msgspec.Meta(extra_json_schema=TEXT)]
PlayerText = TextField
#: The address of a picture.
PictureUrl = Annotated[str, _meta(format="uri", maxLength=URL_BYTES)]
#: A time with an offset.
Time = Annotated[str, _meta(format="date-time")]
#: A number as it was written, so that no digit is lost on the way to a board with decimals.
NumberField = Annotated[msgspec.Raw, _meta(type="number", **SCORE_RANGE)]
#: One end of a range of scores.
ScoreBound = msgspec.Meta(extra_json_schema=SCORE_RANGE)
#: The value of a segment.
Region = Annotated[str, _meta(minLength=1, maxLength=MAX_SEGMENT_BYTES)]
SegmentFields = Annotated[
    dict[str, Region], _meta(propertyNames={"pattern": _whole(SEGMENT_PATTERN)}, maxProperties=BOUNDS["Board.segments"].most)
]
ScoreList = Annotated[list[msgspec.Raw], _meta(maxItems=MAX_BATCH)]
FriendIds = Annotated[list[PlayerText], _meta(maxItems=MAX_FRIENDS)]
PlayerList = Annotated[list[PlayerText], _meta(maxItems=MAX_LOOKUP)]
#: The windows in which a correction counts.
WindowList = Annotated[list[Annotated[str, _meta(enum=_WINDOWS)]], _meta(minItems=1, uniqueItems=True)]
ImportKeys = Annotated[list[Annotated[str, _meta(pattern=_whole(KEY_PATTERN))]], _meta(maxItems=MAX_BATCH)]

#: How many of the friends; None: all.
FriendLimit = Annotated[int | None, _from_to(1, MAX_AMONG)]
#: Parts of a view, each of which may be left out with 0.
TopCount = Annotated[int, _from_to(0, MAX_LIMIT)]
FriendCount = Annotated[int, _from_to(0, MAX_AMONG)]
PageLimit = Annotated[int, _from_to(1, MAX_LIMIT)]
Offset = Annotated[int, _from_to(0, MAX_OFFSET)]
BinCount = Annotated[int, _from_to(1, MAX_BINS)]
AroundCount = Annotated[int, _from_to(0, MAX_AROUND)]
WindowCount = Annotated[int, _from_to(1, MAX_WINDOWS)]
FoundCount = Annotated[int, _from_to(1, MAX_FOUND)]
EventCount = Annotated[int, _from_to(1, MAX_EVENTS)]
BoardEventCount = Annotated[int, _from_to(1, MAX_BOARD_EVENTS)]

#: Names that a reader may give or leave out.
WindowChoice = Annotated[str | None, _meta(enum=[*_WINDOWS, None])]
RankName = Annotated[str | None, _meta(enum=[*get_args(RankKind), None])]
PositionText = Annotated[str | None, _meta(pattern=f"^(?:{POSITION_PATTERN})$")]
PlayerName = Annotated[str | None, _meta(**TEXT)]
LiveRows = Annotated[int | None, _meta(minimum=1, maximum=MAX_TOP)]
LiveNeighbours = Annotated[int | None, _meta(minimum=0, maximum=MAX_AROUND)]
SegmentName = Annotated[str | None, _meta(pattern=f"^(?:{SEGMENT_PATTERN}):.+$")]

#: The variable parts of paths.
PATHS: dict[str, dict[str, Any]] = {
    "board": _BOARD,
    "player_id": {"type": "string", **TEXT},
    "friend_id": {"type": "string", **TEXT},
    "member_id": {"type": "string", **TEXT},
    "group_id": {"type": "string", "minLength": 1},
    "team_id": {"type": "string", **TEXT},
    "rank": {"type": "integer", "minimum": 1, "maximum": MAX_RANK},
    "window": {"type": "string", "enum": _WINDOWS},
    "window_id": {"type": "string", "minLength": 1},
    "id": {"type": "integer", "minimum": 1, "maximum": MAX_SNAPSHOT_ID},
    "key_id": {"type": "string", "minLength": 1},
    "appeal_id": {"type": "string", "minLength": 1},
    "queue_id": {"type": "string", "minLength": 1},
    "void_id": {"type": "string", "minLength": 1},
    "match_id": {"type": "string", **TEXT},
    "opponent_id": {"type": "string", **TEXT},
}
