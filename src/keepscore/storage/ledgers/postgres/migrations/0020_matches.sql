-- The ids of matches are never forgotten, and the index of the keys that are leaves them out.
DROP INDEX idempotency_by_time;
CREATE INDEX idempotency_by_time ON idempotency (created) WHERE kind <> 'import' AND kind <> 'match';
