-- One table for the idempotency keys of everything: a kind and a target in columns of their own, and who works on what is not finished.
DROP INDEX idempotency_by_time;
ALTER TABLE idempotency RENAME TO idempotency_of_boards;
CREATE TABLE idempotency (
    kind        TEXT    NOT NULL, -- what is done: 'submission', 'board', 'player', 'import'
    target      TEXT    NOT NULL, -- to what: the number of a board for submissions and imports, else a name or id
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    answer      BLOB,
    created     INTEGER NOT NULL,
    owner       INTEGER,          -- the writer that works on it
    beats       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, target, key)
) WITHOUT ROWID;
INSERT INTO idempotency (kind, target, key, fingerprint, answer, created)
SELECT 'submission', CAST(board AS TEXT), key, fingerprint, answer, created FROM idempotency_of_boards;
DROP TABLE idempotency_of_boards;
CREATE INDEX idempotency_by_time ON idempotency (created) WHERE kind <> 'import';
-- Keys of other requests were kept here, for ever.
DELETE FROM ledger WHERE name LIKE 'once:%' OR name LIKE 'reset:%' OR name LIKE 'undo_reset:%';
