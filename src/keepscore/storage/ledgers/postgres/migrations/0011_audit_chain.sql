-- The audit becomes a chain: each entry's `hash` covers the entry and the hash before it, and the head says where the chain ends.
-- then: chain the audit
ALTER TABLE audit ALTER COLUMN id DROP IDENTITY; -- ids follow the head, without holes
ALTER TABLE audit ALTER COLUMN detail TYPE json; -- kept byte for byte, as it was hashed
ALTER TABLE audit ADD COLUMN address text;
ALTER TABLE audit ADD COLUMN reason text;
ALTER TABLE audit ADD COLUMN hash bytea NOT NULL DEFAULT '';
CREATE TABLE audit_head (
    is_one  boolean PRIMARY KEY CHECK (is_one),
    entries bigint  NOT NULL,
    last_id bigint  NOT NULL,
    hash    bytea   NOT NULL
);
