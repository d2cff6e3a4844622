-- Named queries of the SQLite ledger for the index of events by player. A name, a line that says what it is for, the query.

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
-- The same for some players, a list in JSON.
WITH RECURSIVE writers_of (writer) AS (
    SELECT MIN(writer) FROM events WHERE board = :board
    UNION ALL
    SELECT (SELECT MIN(writer) FROM events e WHERE e.board = :board AND e.writer > w.writer) FROM writers_of w WHERE w.writer IS NOT NULL
)
SELECT e.player, e.writer, e.n
FROM writers_of w
LEFT JOIN events_indexed i ON i.board = :board AND i.writer = w.writer
JOIN events e ON e.board = :board AND e.writer = w.writer AND e.n > COALESCE(i.n, 0)
WHERE e.player IN (SELECT value FROM json_each(:players));
