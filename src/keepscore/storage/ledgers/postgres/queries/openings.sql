-- Named queries of the PostgreSQL ledger for openings. A name, a line that says what it is for, the query.

-- name: opening
-- The opening of a board that counts (true), or the one that is announced (false).
SELECT board, number, at, received, announced, first, events, positions, complete, removed FROM openings WHERE board = $1 AND complete = $2;

-- name: accepts_from
-- From which time on boards with an opening take scores.
SELECT board, MAX(at) FROM openings GROUP BY board;

-- name: lock_openings
-- Let one process at a time change openings, until the end of its transaction.
LOCK TABLE openings IN SHARE ROW EXCLUSIVE MODE;

-- name: announce_opening
-- Announce an opening.
INSERT INTO openings (board, number, at, received, announced)
SELECT $1::int, COALESCE(MAX(number), 0) + 1, $2::bigint, $3::bigint, $4::bigint FROM openings WHERE board = $1
RETURNING board, number, at, received, announced, first, events, positions, complete, removed;

-- name: forget_announced
-- Forget what was announced before.
DELETE FROM openings WHERE board = $1 AND number < $2 AND NOT complete;

-- name: begin_opening
-- Give the opening that is announced a new number.
UPDATE openings SET number = number + 1 WHERE board = $1 AND NOT complete
RETURNING board, number, at, received, announced, first, events, positions, complete, removed;

-- name: opening_is_open
-- Whether an opening is being written under a number; it stays so until the end of the transaction.
SELECT 1 FROM openings WHERE board = $1 AND number = $2 AND NOT complete FOR SHARE;

-- name: put_opened_rankings
-- Write rankings of an opening.
INSERT INTO opening_rankings (board, number, "window", window_id, segment, moment, expiry)
SELECT $1::int, $2::int, r.* FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[]) AS r;

-- name: put_opened_states
-- Write states of an opening.
INSERT INTO opening_states (board, number, player, "window", window_id, segment, score, since, own)
SELECT $1::int, $2::int, s.* FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[]) AS s;

-- name: finish_opening
-- Let an opening count, if the board means what it meant.
UPDATE openings SET complete = true, first = $3, events = $4, positions = $5
WHERE board = $1 AND number = $2 AND NOT complete AND $6 = (SELECT meaning FROM boards WHERE id = $1 ORDER BY version DESC LIMIT 1)
RETURNING number;

-- name: forget_openings
-- Forget the openings of a board before one.
DELETE FROM openings WHERE board = $1 AND number < $2;

-- name: stale_openings
-- The numbers of openings that are no more.
SELECT DISTINCT number FROM opening_rankings WHERE board = $1 AND number NOT IN (SELECT number FROM openings WHERE board = $1);

-- name: trim_opening
-- Remove some states of an opening.
DELETE FROM opening_states WHERE (board, number, player, "window", window_id, segment) IN (
    SELECT board, number, player, "window", window_id, segment FROM opening_states WHERE board = $1 AND number = $2 LIMIT $3
);

-- name: trim_opening_rankings
-- Remove the rankings of an opening.
DELETE FROM opening_rankings WHERE board = $1 AND number = $2;

-- name: opened_rankings
-- The rankings in an opening.
SELECT "window", window_id, segment, moment, expiry FROM opening_rankings WHERE board = $1 AND number = $2;

-- name: opened_states
-- States in an opening behind a player and a ranking.
SELECT player, "window", window_id, segment, score, since, own FROM opening_states
WHERE board = $1 AND number = $2 AND (player, "window", window_id, segment) > ($3, $4, $5, $6)
ORDER BY player, "window", window_id, segment LIMIT $7;

-- name: opened_states_of
-- The opening of a board that counts with the states of some players in it: one row without a state where there is none.
SELECT o.board, o.number, o.at, o.received, o.announced, o.first, o.events, o.positions, o.complete, o.removed,
    r."window", r.window_id, r.segment, r.moment, r.expiry,
    s.player, s."window", s.window_id, s.segment, s.score, s.since, s.own
FROM openings o
LEFT JOIN opening_states s ON s.board = o.board AND s.number = o.number AND s.player = ANY ($2::text[])
LEFT JOIN opening_rankings r
    ON r.board = s.board AND r.number = s.number AND r."window" = s."window" AND r.window_id = s.window_id AND r.segment = s.segment
WHERE o.board = $1 AND o.complete;
