-- Named queries of the PostgreSQL ledger for the audit log. A name, a line that says what it is for, the query.

-- name: add_audit
-- Note who did what.
INSERT INTO audit (id, at, who, address, action, board, reason, detail, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: lock_audit_head
-- Wait until whoever adds an entry has done so, and keep others from it until the end of the transaction.
SELECT FROM audit_head FOR UPDATE;

-- name: put_audit_head
-- Let the chain end elsewhere.
INSERT INTO audit_head (is_one, entries, last_id, hash) VALUES (true, $1, $2, $3)
ON CONFLICT (is_one) DO UPDATE SET entries = excluded.entries, last_id = excluded.last_id, hash = excluded.hash;

-- name: audit_ends
-- The highest id, and the head, at one moment.
SELECT (SELECT COALESCE(MAX(id), 0) FROM audit), h.entries, h.last_id, h.hash FROM (SELECT 1) one LEFT JOIN audit_head h ON true;

-- name: audit_page
-- Entries below an id, the newest first.
SELECT id, at, who, address, action, board, reason, detail::text, hash FROM audit
WHERE id < $1 AND ($2::text IS NULL OR board = $2) AND ($3::text IS NULL OR action = $3)
  AND ($4::text IS NULL OR who = $4 OR starts_with(who, $5))
ORDER BY id DESC LIMIT $6;

-- name: audit_chunk
-- Entries from one id to another, the oldest first.
SELECT id, at, who, address, action, board, reason, detail::text, hash FROM audit WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3;

-- name: all_audit
-- All entries, for the migration that chains them.
SELECT id, at, who, address, action, COALESCE(board, ''), reason, detail::text FROM audit ORDER BY id;

-- name: put_audit_hash
-- Give an entry its hash, in that migration.
UPDATE audit SET hash = $1, board = COALESCE(board, '') WHERE id = $2;
