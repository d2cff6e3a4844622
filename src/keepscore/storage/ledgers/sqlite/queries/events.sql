-- Named queries of the SQLite ledger for score events. A name, a line that says what it is for, the query.

-- name: append_event
-- Record one event.
INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: restore_event
-- Record one event, unless it is recorded already.
INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: next_seq
-- Take some numbers for groups of events; the answer is the last of them.
UPDATE event_seq SET last = last + ? RETURNING last;

-- name: seq_upto
-- The number of a writer's last event on a board up to a position.
SELECT COALESCE(seq, 0) FROM events WHERE board = ? AND writer = ? AND n <= ? ORDER BY n DESC LIMIT 1;

-- name: events_of_writer
-- A writer's events on a board behind a position.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address
FROM events WHERE board = ? AND writer = ? AND n > ? ORDER BY n LIMIT ?;

-- name: event
-- One event.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address
FROM events WHERE board = ? AND writer = ? AND n = ?;

-- name: next_writer
-- The next writer on a board behind a given one, and its last event: a search of the index for each writer, not a scan.
SELECT writer, n FROM events
WHERE board = ?1 AND writer = (SELECT MIN(writer) FROM events WHERE board = ?1 AND writer > ?2)
ORDER BY n DESC LIMIT 1;

-- name: events_between
-- Whether a board has an event of a time, or had one maybe that was dropped.
SELECT EXISTS (SELECT 1 FROM events WHERE board = ?1 AND at >= ?2 AND at < ?3)
    OR EXISTS (SELECT 1 FROM openings WHERE board = ?1 AND complete AND at > ?2 AND first < ?3);

-- name: first_event
-- The time of a board's earliest event, dropped ones included.
SELECT MIN(at) FROM (SELECT at FROM events WHERE board = ?1 UNION ALL SELECT first FROM openings WHERE board = ?1 AND complete);
