-- When a key was claimed. Those that are there count as claimed now.
ALTER TABLE idempotency ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
UPDATE idempotency SET created = CAST(strftime('%s', 'now') AS INTEGER) * 1000;
CREATE INDEX idempotency_by_time ON idempotency (created);
