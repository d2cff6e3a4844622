-- Named queries of the SQLite ledger for checkpoints. A name, a line that says what it is for, the query.

-- name: last_checkpoint
-- The number of the newest checkpoint of a board.
SELECT COALESCE(MAX(number), 0) FROM checkpoints WHERE board = ?;

-- name: begin_checkpoint
-- Begin a checkpoint.
INSERT INTO checkpoints (board, number, base, meaning, positions, taken) VALUES (?, ?, ?, ?, ?, ?);

-- name: put_standing
-- Checkpoint one state, unless a later checkpoint has it.
INSERT INTO standings (board, window, window_id, segment, player, score, since, checkpoint)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET score = excluded.score, since = excluded.since, checkpoint = excluded.checkpoint
WHERE standings.checkpoint <= excluded.checkpoint;

-- name: remove_standing
-- Take one player out of a checkpointed ranking.
DELETE FROM standings WHERE board = ? AND window = ? AND window_id = ? AND segment = ? AND player = ?;

-- name: trim_standings
-- Remove some states of a ranking that belong to checkpoints below a number.
DELETE FROM standings
WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4 AND player IN (
    SELECT player FROM standings
    WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4 AND checkpoint < ?5 LIMIT ?6
);

-- name: finish_checkpoint
-- Declare a checkpoint complete.
UPDATE checkpoints SET complete = 1 WHERE board = ? AND number = ?;

-- name: prune_checkpoints
-- Forget the checkpoints that a complete one covers.
DELETE FROM checkpoints WHERE board = ? AND number < ?;

-- name: checkpoints
-- The checkpoints of a board.
SELECT number, base, meaning, positions, complete, taken FROM checkpoints WHERE board = ? ORDER BY number;

-- name: put_ranking
-- Say when a ranking with checkpointed states may be dropped.
INSERT INTO rankings (board, window, window_id, segment, expiry) VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET expiry = excluded.expiry;

-- name: forget_ranking
-- Forget a ranking that has no checkpointed states any more.
DELETE FROM rankings
WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4 AND NOT EXISTS (
    SELECT 1 FROM standings WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4
);

-- name: rankings
-- The rankings of a board that have checkpointed states.
SELECT window, window_id, segment, expiry FROM rankings WHERE board = ?;

-- name: standings
-- The states of a ranking that belong to some checkpoints, from a player on.
SELECT player, score, since FROM standings
WHERE board = ? AND window = ? AND window_id = ? AND segment = ? AND checkpoint BETWEEN ? AND ? AND player > ?
ORDER BY player LIMIT ?;

-- name: standings_of
-- The states of some players (a JSON list) in a ranking, and the checkpoints that they belong to.
SELECT player, score, since, checkpoint FROM standings
WHERE board = ? AND window = ? AND window_id = ? AND segment = ? AND player IN (SELECT value FROM json_each(?));

-- name: page_desc
-- The checkpointed rows of a ranking after the first ones, the highest score first. `ties` is 1, -1 or 0: earlier first, later first, neither.
SELECT player, score, since FROM standings WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4
ORDER BY score DESC, since * ?5, player DESC LIMIT ?6 OFFSET ?7;

-- name: page_asc
-- The same, the lowest score first.
SELECT player, score, since FROM standings WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4
ORDER BY score, since * ?5, player LIMIT ?6 OFFSET ?7;

-- name: sample_desc
-- Every n-th row of a ranking with its rank, the highest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score DESC, since * ?5, player DESC) AS place, player, score, since FROM standings
    WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4
) AS numbered WHERE (place - 1) % ?6 = 0 ORDER BY place;

-- name: sample_asc
-- The same, the lowest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score, since * ?5, player) AS place, player, score, since FROM standings
    WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4
) AS numbered WHERE (place - 1) % ?6 = 0 ORDER BY place;

-- name: ahead_desc
-- How many rows of a ranking are ahead of one, how many have a better score, how many better scores there are, and how many rows.
SELECT
    COALESCE(SUM(score > ?7 OR (score = ?7 AND (since * ?5 < ?8 * ?5 OR (since * ?5 = ?8 * ?5 AND player > ?6)))), 0),
    COALESCE(SUM(score > ?7), 0), COUNT(DISTINCT CASE WHEN score > ?7 THEN score END), COUNT(*)
FROM standings WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4;

-- name: ahead_asc
-- The same, the lowest score first.
SELECT
    COALESCE(SUM(score < ?7 OR (score = ?7 AND (since * ?5 < ?8 * ?5 OR (since * ?5 = ?8 * ?5 AND player < ?6)))), 0),
    COALESCE(SUM(score < ?7), 0), COUNT(DISTINCT CASE WHEN score < ?7 THEN score END), COUNT(*)
FROM standings WHERE board = ?1 AND window = ?2 AND window_id = ?3 AND segment = ?4;

-- name: count_standings
-- How many rows of a ranking have a score in a range.
SELECT COUNT(*) FROM standings WHERE board = ? AND window = ? AND window_id = ? AND segment = ? AND score BETWEEN ? AND ?;
