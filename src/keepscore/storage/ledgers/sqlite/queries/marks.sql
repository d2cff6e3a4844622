-- Named queries of the SQLite ledger for single values under names. A name, a line that says what it is for, the query.

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
