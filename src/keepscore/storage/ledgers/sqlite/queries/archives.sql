-- Named queries of the SQLite ledger for archives. A name, a line that says what it is for, the query.

-- name: unfinished
-- The archive of a ranking that was begun and not finished.
SELECT id FROM archives
WHERE board = ? AND window = ? AND window_id = ? AND segment = ? AND kind = ? AND number = ? AND NOT complete;

-- name: begin_archive
-- Begin an archive.
INSERT INTO archives (board, window, window_id, segment, kind, number, taken) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id;

-- name: write_archive
-- Archive one standing.
INSERT INTO snapshots (archive, rank, standard, dense, player, score, since) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: finish_archive
-- Declare an archive complete, unless it would change a window whose winners are decided.
UPDATE archives SET players = ?, kept = ?, digest = ?, complete = true WHERE id = ? AND NOT complete AND NOT (kind = 'closed' AND EXISTS (
    SELECT 1 FROM prize_windows p
    WHERE p.board = archives.board AND p.window = archives.window AND p.window_id = archives.window_id AND p.final_at IS NOT NULL));

-- name: archive_is_open
-- Whether an archive is there and not finished.
SELECT EXISTS (SELECT 1 FROM archives WHERE id = ? AND NOT complete);

-- name: drop_archive_rows
-- Drop the rows of an archive.
DELETE FROM snapshots WHERE archive = ?;

-- name: drop_archive
-- Drop an archive.
DELETE FROM archives WHERE id = ?;

-- name: archives
-- The complete archives of a board: of one window, one window id, one kind, or any.
SELECT id, board, window, window_id, segment, kind, number, taken, players, kept, digest FROM archives
WHERE board = ?1 AND (?2 IS NULL OR window = ?2) AND (?3 IS NULL OR window_id = ?3) AND (?4 IS NULL OR kind = ?4) AND complete
ORDER BY window, taken, window_id, segment, number;

-- name: archive_rows
-- Rows of an archive, from a rank on.
SELECT rank, standard, dense, player, score, since FROM snapshots WHERE archive = ? AND rank > ? ORDER BY rank LIMIT ?;

-- name: archive_places
-- The rows of some players in an archive. By that index: by itself, SQLite would look through the whole archive.
SELECT rank, standard, dense, player, score, since FROM snapshots INDEXED BY snapshots_by_player
WHERE archive = ? AND player IN (SELECT value FROM json_each(?));

-- name: archive_count
-- How many rows of an archive have a score in a range.
SELECT COUNT(*) FROM snapshots WHERE archive = ? AND score BETWEEN ? AND ?;

-- name: player_archives
-- The archives of a board that a player is in, with the player's row.
SELECT a.id, a.board, a.window, a.window_id, a.segment, a.kind, a.number, a.taken, a.players, a.kept, a.digest, s.rank, s.standard, s.dense, s.player, s.score, s.since
FROM archives a JOIN snapshots s ON s.archive = a.id AND s.player = ?2
WHERE a.board = ?1 AND a.complete ORDER BY a.taken, a.number;
