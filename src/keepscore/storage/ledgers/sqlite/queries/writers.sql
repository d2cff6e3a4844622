-- Named queries of the SQLite ledger for writer numbers. A name, a line that says what it is for, the query.

-- name: new_writer
-- Register a process that writes.
INSERT INTO writers (id, started) SELECT MAX(COALESCE(MAX(id), 0) + 1, ?1), ?2 FROM writers RETURNING id;

-- name: count_writers
-- How many of some writers, a JSON list, are registered.
SELECT COUNT(*) FROM writers WHERE id IN (SELECT value FROM json_each(?));
