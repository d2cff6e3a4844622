"""Which files are the same, which have grown or were mended, and which are others."""

import pytest

from keepscore.domain.imports import FileDigest, NewPart, as_text, next_end, row_digest
from keepscore.domain.results.standings import Rejection


def digests(rows):
    return [None if row is None else row_digest(place, "", {"row": row}) for place, row in enumerate(rows, 1)]


def imported(rows, refused=(), parts=(), upto=None, name="a.csv"):
    """The parts that there are after an import of rows (None: a bad one), of which the board refuses some, up to a part."""
    parts = list(parts)
    own = digests(rows)
    digest = known(rows, parts)
    last = digest.last_known()
    at, key, before = (0, as_text(digest.digest), as_text(0)) if last is None else (last.rows, last.key, last.digest)
    while at < len(rows) and (upto is None or at < upto):
        end = next_end(at, len(rows))
        bad = [place for place in range(at + 1, end + 1) if own[place - 1] is None]
        sent = [place for place in range(at + 1, end + 1) if own[place - 1] is not None]
        new = NewPart(key, before, end, bad, [as_text(own[place - 1]) for place in sent], name)
        part = new.recorded([Rejection(index, "", "") for index, place in enumerate(sent) if place in refused])
        parts.append(part)
        at, key, before = end, part.key, part.digest
    return parts


def known(rows, parts):
    digest = FileDigest(parts)
    for one in digests(rows):
        digest.add(one)
    return digest


ROWS = [f"row {place % 13}" for place in range(2345)]
GAPS = [None if place in (3, 1999, 2100) else row for place, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("first", "refused", "second", "rows"),
    [
        (ROWS, (), ROWS, 2345),
        (ROWS, (), [*ROWS, "more"], 2345),
        (ROWS, (1, 2000, 2345), ROWS, 2345),
        (GAPS, (7,), GAPS, 2345),
        (GAPS, (7,), ROWS, 2345),
        (GAPS, (7,), [*ROWS[:6], "mended", *ROWS[7:], "more"], 2345),
        (ROWS, (), ["other", *ROWS[1:]], None),
        (ROWS, (), [*ROWS[:-1], "other"], None),
        (ROWS, (), ROWS[::-1], None),
        (ROWS, (), ROWS[:2000], 2000),
        (ROWS, (), ROWS[:2001], None),
        (ROWS, (), [*ROWS[:2000], "other"], None),
        (ROWS, (), [], None),
    ],
)
def test_how_far_a_file_is_known(first, refused, second, rows):
    last = known(second, imported(first, refused)).last_known()
    assert (last and last.rows) == rows


def test_a_file_that_was_cut_short_goes_on_and_one_that_branches_off_is_another():
    parts = imported(ROWS, upto=1000)
    assert known(ROWS, parts).last_known().rows == 1000
    whole = imported(ROWS, parts=parts)
    assert [part.rows for part in whole] == [1000, 2000, 2345]
    grown = imported([*ROWS, *["more"] * 1000], parts=whole)
    assert [part.rows for part in grown[3:]] == [3000, 3345]
    assert known(ROWS, grown).last_known().rows == 2345
    branched = imported([*ROWS[:2000], "other"], parts=grown)
    assert [part.rows for part in branched[5:]] == [1000, 2000, 2001]
    assert len({part.key for part in branched}) == len(branched) == 8
