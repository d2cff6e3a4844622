"""When something is to be done that a board does at set times. Pure; moments are milliseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronsim import CronSim

from keepscore.domain.board_checks import SCHEDULES
from keepscore.domain.boards import Board

__all__ = ["last_moment"]

#: The most by which clocks are put forward or back.
_SHIFT = timedelta(hours=3)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def last_moment(board: Board, schedule: str, now: int) -> int | None:
    """Return the last moment of a schedule that has passed, in the board's time zone; None where there was none since 1970.

    A time that the clock shows twice comes once, the first time; one that it skips counts as if it had not yet gone forward.

    >>> last_moment(Board("b", week_start="sunday"), "weekly", 1_794_787_200_000) == 1_794_700_800_000
    True
    """
    cron = SCHEDULES.get(schedule, schedule).format(week_start=board.week_start[:3])
    shown_now = (_EPOCH + timedelta(milliseconds=now)).astimezone(board.zone).replace(tzinfo=None, fold=0)
    best: int | None = None
    # Clocks that are set back show times out of order: look a little around.
    for shown in CronSim(cron, shown_now + _SHIFT, reverse=True):
        if best is not None and shown < shown_now - _SHIFT:
            break
        moment = round(shown.replace(tzinfo=board.zone, fold=0).astimezone(UTC).timestamp() * 1000)
        if moment < 0:
            break
        if moment <= now and (best is None or moment > best):
            best = moment
    return best
