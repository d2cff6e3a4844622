-- Named queries of the PostgreSQL ledger for archives. A name, a line that says what it is for, the query.

-- name: unfinished
-- The archive of a ranking that was begun and not finished.
SELECT id FROM archives
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND kind = $5 AND number = $6 AND NOT complete;

-- name: begin_archive
-- Begin an archive.
INSERT INTO archives (board, "window", window_id, segment, kind, number, taken) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id;

-- name: write_archive
-- Archive standings, unless the archive was dropped or finished meanwhile.
WITH open AS (SELECT id FROM archives WHERE id = $1 AND NOT complete FOR SHARE)
INSERT INTO snapshots (archive, rank, standard, dense, player, score, since)
SELECT open.id, given.*
FROM open, unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[]) AS given;

-- name: finish_archive
-- Declare an archive complete, unless it would change a window whose winners are decided.
UPDATE archives SET players = $1, kept = $2, digest = $3, complete = true WHERE id = $4 AND NOT complete AND NOT (kind = 'closed' AND EXISTS (
    SELECT 1 FROM prize_windows p
    WHERE p.board = archives.board AND p."window" = archives."window" AND p.window_id = archives.window_id AND p.final_at IS NOT NULL))
RETURNING id;

-- name: archive_board
-- The board of an archive.
SELECT board FROM archives WHERE id = $1;

-- name: drop_archive_rows
-- Drop the rows of an archive.
DELETE FROM snapshots WHERE archive = $1;

-- name: drop_archive
-- Drop an archive.
DELETE FROM archives WHERE id = $1;

-- name: archives
-- The complete archives of a board: of one window, one window id, one kind, or any.
SELECT id, board, "window", window_id, segment, kind, number, taken, players, kept, digest FROM archives
WHERE board = $1 AND ($2::text IS NULL OR "window" = $2) AND ($3::text IS NULL OR window_id = $3) AND ($4::text IS NULL OR kind = $4) AND complete
ORDER BY "window", taken, window_id, segment, number;

-- name: archive_rows
-- Rows of an archive, from a rank on.
SELECT rank, standard, dense, player, score, since FROM snapshots WHERE archive = $1 AND rank > $2 ORDER BY rank LIMIT $3;

-- name: archive_places
-- The rows of some players in an archive.
SELECT rank, standard, dense, player, score, since FROM snapshots WHERE archive = $1 AND player = ANY($2::text[]);

-- name: archive_count
-- How many rows of an archive have a score in a range.
SELECT COUNT(*) FROM snapshots WHERE archive = $1 AND score BETWEEN $2 AND $3;

-- name: player_archives
-- The archives of a board that a player is in, with the player's row.
SELECT a.id, a.board, a."window", a.window_id, a.segment, a.kind, a.number, a.taken, a.players, a.kept, a.digest, s.rank, s.standard, s.dense, s.player, s.score, s.since
FROM archives a JOIN snapshots s ON s.archive = a.id AND s.player = $2
WHERE a.board = $1 AND a.complete ORDER BY a.taken, a.number;
