-- Named queries of the PostgreSQL ledger for tables and partitions. A name, a line that says what it is for, the query.

-- name: lock_schema
-- Let one process at a time change tables, until the end of its transaction.
SELECT pg_advisory_xact_lock($1);

-- name: make_history
-- Where migrations are listed.
CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());

-- name: schema_version
-- How many migrations were applied.
SELECT COALESCE(MAX(version), 0) FROM migrations;

-- name: migrated
-- Say that a migration was applied.
INSERT INTO migrations (version) VALUES ($1);

-- name: partitions
-- The partitions of the events that there are.
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass;

-- name: make_partition
-- Make a partition, and then let events in: appends to the others need not wait for that.
CREATE TABLE {name} (LIKE events INCLUDING ALL);
ALTER TABLE events ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({last});
