from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepscore.domain.boards import MAX_SCORE, Board
from keepscore.domain.ordering import KeyCodec, Ranks, Row, number_rows, percentile

COMBINATIONS = list(product(["desc", "asc"], ["first", "last", "player"]))
every_board = pytest.mark.parametrize(("order", "ties"), COMBINATIONS)

PLAYERS = st.sampled_from(["a", "b", "ab", "a1", "Ä", "игрок", "玩家", "🎮", "🎮🎮", "\uffff", "\x01", "z" * 200]) | st.text(
    st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1
)
SCORES = st.integers(-2, 2) | st.integers(-MAX_SCORE, MAX_SCORE) | st.sampled_from([-MAX_SCORE, MAX_SCORE])
TIMES = st.integers(0, 3) | st.integers(0, 253_402_300_800_000) | st.just(2**62)
ROWS = st.builds(Row, PLAYERS, SCORES, TIMES)
FIELDS = st.lists(ROWS, max_size=15, unique_by=lambda row: row.player)


def codec(order, ties):
    return KeyCodec(Board("b", order=order, ties=ties))


def sorted_rows(order, ties, rows):
    """From the first rank to the last, by a plain sort of tuples."""
    earlier_is_larger = (ties == "first") == (order == "desc")

    def key(row):
        time = 0 if ties == "player" else -row.since if earlier_is_larger else row.since
        return row.score, time, row.player.encode()

    return sorted(rows, key=key, reverse=order == "desc")


@every_board
@given(rows=FIELDS)
def test_keys_sort_as_tuples_do(order, ties, rows):
    c = codec(order, ties)
    keys = sorted((c.encode(*row) for row in rows), reverse=order == "desc")
    assert [c.decode(key) for key in keys] == sorted_rows(order, ties, rows)


@every_board
@given(row=ROWS)
def test_a_key_holds_all_of_a_row(order, ties, row):
    c = codec(order, ties)
    assert c.decode(c.encode(*row)) == row
    assert c.state(c.encode(*row)) == (row.score, row.since)


@pytest.mark.parametrize(
    ("order", "ties", "ranked"),
    [
        ("desc", "first", ["early", "late", "low"]),
        ("desc", "last", ["late", "early", "low"]),
        ("asc", "first", ["low", "early", "late"]),
        ("asc", "last", ["low", "late", "early"]),
        ("desc", "player", ["late", "early", "low"]),
        ("asc", "player", ["low", "early", "late"]),
    ],
)
def test_ties_are_broken_as_the_board_says(order, ties, ranked):
    rows = [Row("late", 9, 20), Row("low", -9, 15), Row("early", 9, 10)]
    c = codec(order, ties)
    assert [c.decode(key).player for key in sorted((c.encode(*row) for row in rows), reverse=order == "desc")] == ranked


@pytest.mark.parametrize(("order", "ranked"), [("desc", ["b", "ab", "a"]), ("asc", ["a", "ab", "b"])])
@pytest.mark.parametrize("ties", ["first", "last", "player"])
def test_players_that_are_equal_in_all_else_are_ordered_by_the_bytes_of_their_ids(order, ranked, ties):
    c = codec(order, ties)
    keys = sorted((c.encode(player, 1, 1) for player in ("ab", "b", "a")), reverse=order == "desc")
    assert [c.decode(key).player for key in keys] == ranked


@every_board
@given(row=ROWS)
def test_a_key_tells_its_score_exactly(order, ties, row):
    assert codec(order, ties).score(codec(order, ties).encode(*row)) == row.score


@every_board
@given(rows=st.lists(ROWS, max_size=5))
def test_many_keys_are_the_keys_of_each(order, ties, rows):
    c = codec(order, ties)
    assert c.encode_all(rows) == [(row.player, c.encode(*row)) for row in rows]


@every_board
@given(row=ROWS, other=ROWS, since=st.integers(0, 2**47))
def test_the_bounds_of_a_place_hold_its_own_key_and_no_other(order, ties, row, other, since):
    c = codec(order, ties)
    first, after = c.bounds(row)
    assert first <= c.encode(*row) < after
    same_place = row == other or (ties == "player" and row[:2] == other[:2])
    assert (first <= c.encode(*other) < after) == same_place
    if ties == "player":
        assert first <= c.encode(row.player, row.score, since) < after


def naive_ranks(rows, place):
    """The ranks of the row at one place, by counting those that are ahead."""
    score = rows[place].score
    ahead = [row.score for row in rows[:place] if row.score != score]
    return Ranks(place + 1, len(ahead) + 1, len(set(ahead)) + 1)


@every_board
@given(rows=FIELDS.filter(bool), data=st.data())
def test_ranks_of_any_page_are_what_counting_gives(order, ties, rows, data):
    rows = sorted_rows(order, ties, rows)
    start = data.draw(st.integers(0, len(rows) - 1))
    stop = data.draw(st.integers(start, len(rows)))
    expected = [naive_ranks(rows, place) for place in range(start, stop)]
    for index, kind in enumerate(Ranks._fields):
        assert number_rows(kind, naive_ranks(rows, start), rows[start:stop]) == [ranks[index] for ranks in expected]


@given(total=st.integers(1, 500), data=st.data())
def test_percentile_is_the_part_of_the_players_that_is_not_ahead(total, data):
    rank = data.draw(st.integers(1, total))
    not_ahead = sum(1 for other in range(1, total + 1) if other >= rank)
    assert percentile(rank, total) == pytest.approx(100 * not_ahead / total)


def test_the_first_of_any_number_is_at_100_percent():
    assert [percentile(1, total) for total in (1, 3, 7, 1_000_003)] == [100.0] * 4
