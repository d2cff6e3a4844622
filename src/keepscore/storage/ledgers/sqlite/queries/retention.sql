-- Named queries of the SQLite ledger for dropping old events. A name, a line that says what it is for, the query.

-- name: earliest_since
-- The earliest time of a board's events that came at a moment or later.
SELECT MIN(at) FROM events WHERE board = ? AND received >= ?;

-- name: count_events
-- How many of a board's events came before a moment, and how many of these are of a time before another. What is covered already does not count.
SELECT COUNT(*), COALESCE(SUM(at < ?2), 0) FROM events WHERE board = ?1 AND received < ?3 AND NOT (at < ?4 AND received < ?5);

-- name: covered_events
-- Some of a writer's events that an opening covers, behind a position. The writer's last event stays: it tells how far the writer is.
SELECT board, player, writer, n FROM events
WHERE board = ?1 AND writer = ?2 AND n > ?3 AND n <= ?4 AND n < (SELECT MAX(n) FROM events WHERE board = ?1 AND writer = ?2)
    AND at < ?5 AND received < ?6
ORDER BY n LIMIT ?7;

-- name: remove_event
-- Remove one event.
DELETE FROM events WHERE board = ? AND writer = ? AND n = ?;

-- name: unindex_event
-- Take one event out of the index.
DELETE FROM events_by_player WHERE board = ? AND player = ? AND writer = ? AND n = ?;

-- name: finish_removal
-- Say that all that an opening covers is gone.
UPDATE openings SET removed = 1 WHERE board = ? AND number = ?;
