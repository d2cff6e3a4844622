-- Named queries of the PostgreSQL ledger for single values under names. A name, a line that says what it is for, the query.

-- name: put_once
-- Keep a value unless there is one.
INSERT INTO ledger (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: put_value
-- Keep a value.
INSERT INTO ledger (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: value
-- A kept value.
SELECT value FROM ledger WHERE name = $1;

-- name: values
-- All values whose names begin so.
SELECT name, value FROM ledger WHERE starts_with(name, $1);
