-- When a key was claimed. Those that are there count as claimed now.
ALTER TABLE idempotency ADD COLUMN created bigint NOT NULL DEFAULT 0;
UPDATE idempotency SET created = (extract(epoch FROM now()) * 1000)::bigint;
CREATE INDEX idempotency_by_time ON idempotency (created);
