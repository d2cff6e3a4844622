"""Play tokens: for one player, one board and a day."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keepscore.access.play_tokens import MAX_PLAY_MS, PlayTokens
from keepscore.errors import InvalidPlayToken

NOW = 1_794_744_000_000

DAY = 86_400_000


def test_a_play_token_is_for_its_player_board_and_day() -> None:
    plays = PlayTokens(b"secret", 7 * DAY)
    token = plays.begin(3, "ada", "1.4", NOW)
    play = plays.read(token, 3, "ada", NOW + 1000)
    assert (play.started_ms, play.build) == (NOW, "1.4")
    assert plays.read(plays.begin(3, "ada", None, NOW), 3, "ada", NOW).id != play.id
    for board, player, now, word in (
        (4, "ada", NOW, "another board"),
        (3, "eve", NOW, "another player"),
        (3, "ada", NOW + MAX_PLAY_MS, "expired"),
        (3, "ada", NOW - DAY, "expired"),
    ):
        with pytest.raises(InvalidPlayToken, match=word):
            plays.read(token, board, player, now)
    with pytest.raises(InvalidPlayToken, match="forged"):
        PlayTokens(b"another", DAY).read(token, 3, "ada", NOW)


def test_a_play_token_lives_no_longer_than_its_redemption_is_remembered() -> None:
    plays = PlayTokens(b"secret", 60_000)
    with pytest.raises(InvalidPlayToken, match="1 minutes"):
        plays.read(plays.begin(1, "ada", None, NOW), 1, "ada", NOW + 60_000)


@example(5, "/")
@example(5, "+")
@given(st.integers(0, 200), st.characters(codec="ascii"))
def test_no_changed_or_cut_play_token_is_taken(at: int, char: str) -> None:
    plays = PlayTokens(b"secret", DAY)
    token = plays.begin(1, "ada", None, NOW)
    at %= len(token)
    if token[at] == char:
        return
    for bad in (token[:at] + char + token[at + 1 :], token[:at], token + "A"):
        with pytest.raises(InvalidPlayToken):
            plays.read(bad, 1, "ada", NOW)
