-- Named queries of the SQLite ledger. A name, a line that says what it is for, the query.

-- name: new_writer
-- Register a process that writes.
INSERT INTO writers (started) VALUES (?) RETURNING id;

-- name: append_event
-- Record one event.
INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: restore_event
-- Record one event, unless it is recorded already.
INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: claim_key
-- Record an idempotency key; nothing happens where it was claimed before.
INSERT INTO idempotency (board, key, fingerprint, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: claimed_key
-- What is known of a claimed key.
SELECT fingerprint, answer FROM idempotency WHERE board = ? AND key = ?;

-- name: forget_keys
-- Forget some of the keys that were claimed before a moment.
DELETE FROM idempotency WHERE (board, key) IN (SELECT board, key FROM idempotency WHERE created < ? LIMIT ?);

-- name: save_answer
-- Keep the answer of a claimed key.
UPDATE idempotency SET answer = ? WHERE board = ? AND key = ?;

-- name: events_of_writer
-- A writer's events on a board behind a position.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata
FROM events WHERE board = ? AND writer = ? AND n > ? ORDER BY n LIMIT ?;

-- name: event
-- One event.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata
FROM events WHERE board = ? AND writer = ? AND n = ?;

-- name: indexed_events
-- The positions of a player's events that the index has.
SELECT writer, n FROM events_by_player WHERE board = ? AND player = ?;

-- name: index_event
-- Put one event into the index.
INSERT INTO events_by_player (board, player, writer, n) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: indexed_upto
-- Say how far the index goes for a writer on a board.
INSERT INTO events_indexed (board, writer, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = MAX(n, excluded.n);

-- name: events_not_indexed
-- The events that the index does not have. For each writer on each board a range of the primary key is read.
WITH RECURSIVE positions (board, writer) AS (
    SELECT * FROM (SELECT board, writer FROM events ORDER BY board, writer LIMIT 1)
    UNION ALL
    SELECT (SELECT board FROM events e WHERE (e.board, e.writer) > (p.board, p.writer) ORDER BY e.board, e.writer LIMIT 1),
           (SELECT writer FROM events e WHERE (e.board, e.writer) > (p.board, p.writer) ORDER BY e.board, e.writer LIMIT 1)
    FROM positions p WHERE p.board IS NOT NULL
)
SELECT e.board, e.player, e.writer, e.n
FROM positions p
LEFT JOIN events_indexed i ON i.board = p.board AND i.writer = p.writer
JOIN events e ON e.board = p.board AND e.writer = p.writer AND e.n > COALESCE(i.n, 0)
WHERE p.board IS NOT NULL;

-- name: events_not_indexed_of
-- The same for one player.
WITH RECURSIVE writers_of (writer) AS (
    SELECT MIN(writer) FROM events WHERE board = :board
    UNION ALL
    SELECT (SELECT MIN(writer) FROM events e WHERE e.board = :board AND e.writer > w.writer) FROM writers_of w WHERE w.writer IS NOT NULL
)
SELECT e.writer, e.n
FROM writers_of w
LEFT JOIN events_indexed i ON i.board = :board AND i.writer = w.writer
JOIN events e ON e.board = :board AND e.writer = w.writer AND e.n > COALESCE(i.n, 0)
WHERE e.player = :player;

-- name: next_writer
-- The next writer on a board behind a given one, and its last event: a search of the index for each writer, not a scan.
SELECT writer, n FROM events
WHERE board = ?1 AND writer = (SELECT MIN(writer) FROM events WHERE board = ?1 AND writer > ?2)
ORDER BY n DESC LIMIT 1;

-- name: current_boards
-- The newest version of every board that was not deleted.
SELECT b.id, b.version, b.definition, b.meaning
FROM boards b
WHERE b.version = (SELECT MAX(version) FROM boards WHERE id = b.id) AND b.deleted IS NULL
ORDER BY b.name;

-- name: next_board_id
-- The number for a new board.
SELECT COALESCE(MAX(id), 0) + 1 FROM boards;

-- name: put_board
-- Record a version of a definition.
INSERT INTO boards (id, version, meaning, name, definition, created) VALUES (?, ?, ?, ?, ?, ?);

-- name: delete_board
-- End a board's life; the answer is its number, with every version.
UPDATE boards SET deleted = ? WHERE name = ? AND deleted IS NULL RETURNING id, version;

-- name: audit
-- Note who did what.
INSERT INTO audit (at, who, action, board, detail) VALUES (?, ?, ?, ?, ?);

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
-- Declare an archive complete.
UPDATE archives SET players = ?, kept = ?, digest = ?, complete = true WHERE id = ? AND NOT complete;

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

-- name: events_between
-- Whether a board has an event of a time, or had one maybe that was dropped.
SELECT EXISTS (SELECT 1 FROM events WHERE board = ?1 AND at >= ?2 AND at < ?3)
    OR EXISTS (SELECT 1 FROM openings WHERE board = ?1 AND complete AND at > ?2 AND first < ?3);

-- name: first_event
-- The time of a board's earliest event, dropped ones included.
SELECT MIN(at) FROM (SELECT at FROM events WHERE board = ?1 UNION ALL SELECT first FROM openings WHERE board = ?1 AND complete);

-- name: profiles
-- The profiles recorded since a moment.
SELECT player, name FROM players WHERE updated >= ?;

-- name: put_profile
-- Record a profile.
INSERT INTO players (player, name, updated) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET name = excluded.name, updated = excluded.updated;

-- name: put_once
-- Keep a value unless there is one.
INSERT INTO ledger (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- name: put_value
-- Keep a value.
INSERT INTO ledger (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value;

-- name: value
-- A kept value.
SELECT value FROM ledger WHERE name = ?;

-- name: values
-- All values whose names begin so.
SELECT name, value FROM ledger WHERE substr(name, 1, length(?1)) = ?1;
