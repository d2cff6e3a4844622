-- Named queries of the PostgreSQL ledger for dropping old events. A name, a line that says what it is for, the query.

-- name: earliest_since
-- The earliest time of a board's events that came at a moment or later.
SELECT MIN(at) FROM events WHERE board = $1 AND received >= $2;

-- name: count_events
-- How many of a board's events came before a moment, and how many of these are of a time before another. What is covered already does not count.
SELECT COUNT(*), COUNT(*) FILTER (WHERE at < $2) FROM events
WHERE board = $1 AND received < $3 AND NOT (at < $4 AND received < $5);

-- name: partition_ends
-- The partitions of the events with the moments at which they end, the oldest first.
SELECT c.relname, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(\d+)')::bigint AS last
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass ORDER BY 2;

-- name: has_covered
-- Whether a partition has an event of a board that an opening covers.
SELECT EXISTS (SELECT 1 FROM {name} WHERE board = $1 AND at < $2 AND received < $3);

-- name: replace_partition
-- Make another table for a partition, with what no opening covers; nothing is added to the partition meanwhile.
LOCK TABLE {name} IN SHARE MODE;
CREATE TABLE {name}_rest (LIKE events INCLUDING ALL);
INSERT INTO {name}_rest SELECT e.* FROM {name} e
WHERE NOT EXISTS (SELECT 1 FROM openings o WHERE o.board = e.board AND o.complete AND e.at < o.at AND e.received < o.received);

-- name: count_partition
-- How many events there are in a partition, and in what is to take its place.
SELECT (SELECT COUNT(*) FROM {name}), (SELECT COUNT(*) FROM {name}_rest);

-- name: put_rest
-- Put the other table in the place of a partition.
SET LOCAL lock_timeout = '2s';
ALTER TABLE events DETACH PARTITION {name};
DROP TABLE {name};
ALTER TABLE {name}_rest RENAME TO {name};
ALTER TABLE events ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({last});

-- name: drop_partition
-- Drop a partition of which nothing is to be kept.
SET LOCAL lock_timeout = '2s';
DROP TABLE {name}_rest;
DROP TABLE {name};

-- name: finish_removal
-- Say that all that an opening covers is gone.
UPDATE openings SET removed = true WHERE board = $1 AND number = $2;
