-- Named queries of the PostgreSQL ledger for writer numbers. A name, a line that says what it is for, the query.

-- name: new_writer
-- Register a process that writes.
INSERT INTO writers (id, started) OVERRIDING SYSTEM VALUE
SELECT GREATEST(COALESCE(MAX(id), 0) + 1, $1::int), $2 FROM writers RETURNING id;

-- name: lock_writers
-- Let one process at a time register.
LOCK TABLE writers IN SHARE ROW EXCLUSIVE MODE;

-- name: count_writers
-- How many of some writers are registered.
SELECT COUNT(*) FROM writers WHERE id = ANY($1::int[]);
