-- Named queries of the SQLite ledger for the audit log. A name, a line that says what it is for, the query.

-- name: add_audit
-- Note who did what.
INSERT INTO audit (id, at, who, address, action, board, reason, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: put_audit_head
-- Let the chain end elsewhere.
INSERT INTO audit_head (is_one, entries, last_id, hash) VALUES (1, ?, ?, ?)
ON CONFLICT (is_one) DO UPDATE SET entries = excluded.entries, last_id = excluded.last_id, hash = excluded.hash;

-- name: audit_ends
-- The highest id, and the head, at one moment.
SELECT (SELECT COALESCE(MAX(id), 0) FROM audit), CAST(h.entries AS INTEGER), CAST(h.last_id AS INTEGER), CAST(h.hash AS BLOB)
FROM (SELECT 1) LEFT JOIN audit_head h ON TRUE;

-- name: audit_page
-- Entries below an id, the newest first, also where somebody has written values of other types over them.
SELECT id, CAST(at AS INTEGER), CAST(who AS TEXT), CAST(address AS TEXT), CAST(action AS TEXT), CAST(board AS TEXT),
    CAST(reason AS TEXT), CAST(detail AS TEXT), CAST(hash AS BLOB)
FROM audit
WHERE id < ?1 AND (?2 IS NULL OR board = ?2) AND (?3 IS NULL OR action = ?3)
  AND (?4 IS NULL OR who = ?4 OR substr(who, 1, length(?5)) = ?5)
ORDER BY id DESC LIMIT ?6;

-- name: audit_chunk
-- Entries from one id to another, the oldest first.
SELECT id, at, who, address, action, board, reason, detail, hash FROM audit WHERE id >= ? AND id <= ? ORDER BY id LIMIT ?;

-- name: all_audit
-- All entries, for the migration that chains them.
SELECT id, at, who, address, action, COALESCE(board, ''), reason, detail FROM audit ORDER BY id;

-- name: put_audit_hash
-- Give an entry its hash, in that migration.
UPDATE audit SET hash = ?, board = COALESCE(board, '') WHERE id = ?;
