-- One table for the idempotency keys of everything: a kind and a target in columns of their own, and who works on what is not finished.
ALTER TABLE idempotency ADD COLUMN kind text NOT NULL DEFAULT 'submission'; -- what is done: 'submission', 'board', 'player', 'import'
ALTER TABLE idempotency ADD COLUMN target text; -- to what: the number of a board for submissions and imports, else a name or id
ALTER TABLE idempotency ADD COLUMN owner integer; -- the writer that works on it
ALTER TABLE idempotency ADD COLUMN beats bigint NOT NULL DEFAULT 0;
UPDATE idempotency SET target = board::text;
ALTER TABLE idempotency DROP CONSTRAINT idempotency_pkey;
ALTER TABLE idempotency DROP COLUMN board;
ALTER TABLE idempotency ALTER COLUMN target SET NOT NULL, ALTER COLUMN kind DROP DEFAULT, ALTER COLUMN created DROP DEFAULT;
ALTER TABLE idempotency ADD PRIMARY KEY (kind, target, key);
DROP INDEX idempotency_by_time;
CREATE INDEX idempotency_by_time ON idempotency (created) WHERE kind <> 'import';
-- Keys of other requests were kept here, for ever.
DELETE FROM ledger WHERE name LIKE 'once:%' OR name LIKE 'reset:%' OR name LIKE 'undo\_reset:%';
