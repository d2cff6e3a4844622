-- Named queries of the SQLite ledger for refused attempts.

-- name: add_attempt
-- Count attempts of a player at a moment.
INSERT INTO attempts (board, player, at, count) VALUES (?, ?, ?, ?)
ON CONFLICT (board, player, at) DO UPDATE SET count = count + excluded.count;

-- name: attempts_of_player
-- The attempts of a player on a board from a moment on.
SELECT board, player, at, count FROM attempts WHERE board = ? AND player = ? AND at >= ?;

-- name: forget_attempts
-- Forget some of the attempts before a moment.
DELETE FROM attempts WHERE (board, player, at) IN (SELECT board, player, at FROM attempts WHERE at < ? LIMIT ?);
