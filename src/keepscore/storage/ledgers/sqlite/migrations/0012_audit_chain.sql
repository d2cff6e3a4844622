-- The audit becomes a chain: each entry's `hash` covers the entry and the hash before it, and the head says where the chain ends.
-- then: chain the audit
ALTER TABLE audit ADD COLUMN address TEXT;
ALTER TABLE audit ADD COLUMN reason TEXT;
ALTER TABLE audit ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
CREATE TABLE audit_head (
    is_one  INTEGER PRIMARY KEY CHECK (is_one = 1),
    entries INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    hash    BLOB    NOT NULL
);
