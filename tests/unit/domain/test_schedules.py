from datetime import datetime, timedelta

import pytest

from keepscore import Board
from keepscore.domain.schedules import last_moment


def ms(text):
    return round(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("zone", "schedule", "now", "last"),
    [
        ("UTC", "daily", "2026-11-15T12:00:00Z", "2026-11-15T00:00:00Z"),
        ("UTC", "daily", "2026-11-15T00:00:00Z", "2026-11-15T00:00:00Z"),
        ("UTC", "daily", "2026-11-14T23:59:59.999Z", "2026-11-14T00:00:00Z"),
        ("UTC", "hourly", "2026-11-15T12:34:00Z", "2026-11-15T12:00:00Z"),
        ("UTC", "weekly", "2026-11-15T12:00:00Z", "2026-11-09T00:00:00Z"),
        ("UTC", "monthly", "2026-11-15T12:00:00Z", "2026-11-01T00:00:00Z"),
        ("Asia/Tokyo", "daily", "2026-11-15T15:00:00Z", "2026-11-15T15:00:00Z"),
        # Clocks go back at 3:00, and 2:30 comes twice: it counts the first time.
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T02:15:00+01:00", "2026-10-25T02:30:00+02:00"),
        ("Europe/Berlin", "30 2 * * *", "2026-10-25T02:45:00+01:00", "2026-10-25T02:30:00+02:00"),
        # Clocks go forward at 2:00, and 2:30 is 3:30.
        ("Europe/Berlin", "30 2 * * *", "2026-03-29T03:29:00+02:00", "2026-03-28T02:30:00+01:00"),
        ("Europe/Berlin", "30 2 * * *", "2026-03-29T03:30:00+02:00", "2026-03-29T03:30:00+02:00"),
    ],
)
def test_the_last_moment(zone, schedule, now, last):
    assert last_moment(Board("b", timezone=zone), schedule, ms(now)) == ms(last)


def test_a_moment_never_lies_ahead_and_they_only_move_on():
    board = Board("b", timezone="Europe/Berlin")
    start = datetime.fromisoformat("2026-10-24T20:00:00+02:00")
    found = [last_moment(board, "hourly", ms((start + timedelta(minutes=7 * n)).isoformat())) for n in range(100)]
    assert found == sorted(found)
    assert all(moment <= ms((start + timedelta(minutes=7 * n)).isoformat()) for n, moment in enumerate(found))
