-- Named queries of the PostgreSQL ledger for checkpoints. A name, a line that says what it is for, the query.

-- name: last_checkpoint
-- The number of the newest checkpoint of a board.
SELECT COALESCE(MAX(number), 0) FROM checkpoints WHERE board = $1;

-- name: begin_checkpoint
-- Begin a checkpoint.
INSERT INTO checkpoints (board, number, base, meaning, positions, taken) VALUES ($1, $2, $3, $4, $5, $6);

-- name: put_standings
-- Checkpoint some states of a ranking, but those that a later checkpoint has.
INSERT INTO standings (board, "window", window_id, segment, player, score, since, checkpoint)
SELECT $1, $2, $3, $4, s.player, s.score, s.since, $5 FROM unnest($6::text[], $7::bigint[], $8::bigint[]) AS s (player, score, since)
ON CONFLICT (board, "window", window_id, segment, player)
DO UPDATE SET score = excluded.score, since = excluded.since, checkpoint = excluded.checkpoint
WHERE standings.checkpoint <= excluded.checkpoint;

-- name: remove_standings
-- Take players out of a checkpointed ranking, but those that a later checkpoint has.
DELETE FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint <= $5 AND player = ANY($6::text[]);

-- name: trim_standings
-- Remove some states of a ranking that belong to checkpoints below a number.
-- By place: a table that has just been filled has no statistics yet, and a join with itself may then take a second.
DELETE FROM standings WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint < $5 LIMIT $6
));

-- name: finish_checkpoint
-- Declare a checkpoint complete.
UPDATE checkpoints SET complete = true WHERE board = $1 AND number = $2;

-- name: prune_checkpoints
-- Forget the checkpoints that a complete one covers.
DELETE FROM checkpoints WHERE board = $1 AND number < $2;

-- name: checkpoints
-- The checkpoints of a board.
SELECT number, base, meaning, positions, complete, taken FROM checkpoints WHERE board = $1 ORDER BY number;

-- name: put_ranking
-- Say when a ranking with checkpointed states may be dropped.
INSERT INTO rankings (board, "window", window_id, segment, expiry) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (board, "window", window_id, segment) DO UPDATE SET expiry = excluded.expiry;

-- name: forget_ranking
-- Forget a ranking that has no checkpointed states any more.
DELETE FROM rankings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND NOT EXISTS (
    SELECT 1 FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
);

-- name: rankings
-- The rankings of a board that have checkpointed states.
SELECT "window", window_id, segment, expiry FROM rankings WHERE board = $1;

-- name: standings
-- The states of a ranking that belong to some checkpoints, from a player on.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint BETWEEN $5 AND $6 AND player > $7
ORDER BY player LIMIT $8;

-- name: standings_of
-- The states of some players in a ranking, and the checkpoints that they belong to.
SELECT player, score, since, checkpoint FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND player = ANY($5::text[]);

-- name: page_desc
-- The checkpointed rows of a ranking after the first ones, the highest score first. `ties` ($5) is 1, -1 or 0: earlier first, later
-- first, neither.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
ORDER BY score DESC, since * $5::bigint, player DESC LIMIT $6 OFFSET $7;

-- name: page_asc
-- The same, the lowest score first.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
ORDER BY score, since * $5::bigint, player LIMIT $6 OFFSET $7;

-- name: sample_desc
-- Every n-th row of a ranking with its rank, the highest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score DESC, since * $5::bigint, player DESC) AS place, player, score, since FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
) AS numbered WHERE (place - 1) % $6::bigint = 0 ORDER BY place;

-- name: sample_asc
-- The same, the lowest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score, since * $5::bigint, player) AS place, player, score, since FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
) AS numbered WHERE (place - 1) % $6::bigint = 0 ORDER BY place;

-- name: ahead_desc
-- How many rows of a ranking are ahead of one, how many have a better score, how many better scores there are, and how many rows.
SELECT
    (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score = $7
        AND (since * $5::bigint < $8::bigint * $5 OR (since * $5::bigint = $8::bigint * $5 AND player > $6))) + b.better,
    b.better, b.scores, (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4)
FROM (SELECT COUNT(*) AS better, COUNT(DISTINCT score) AS scores FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score > $7::bigint) b;

-- name: ahead_asc
-- The same, the lowest score first.
SELECT
    (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score = $7
        AND (since * $5::bigint < $8::bigint * $5 OR (since * $5::bigint = $8::bigint * $5 AND player < $6))) + b.better,
    b.better, b.scores, (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4)
FROM (SELECT COUNT(*) AS better, COUNT(DISTINCT score) AS scores FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score < $7::bigint) b;

-- name: count_standings
-- How many rows of a ranking have a score in a range.
SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score BETWEEN $5 AND $6;
