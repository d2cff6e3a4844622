-- Named queries of the SQLite ledger for API keys.

-- name: api_keys
-- All keys, the oldest first.
SELECT id, name, scope, boards, hash, created, expires, revoked, last_used, replaces FROM api_keys ORDER BY created, id;

-- name: add_api_key
-- Record a key.
INSERT INTO api_keys (id, name, scope, boards, hash, created, expires, revoked, last_used, replaces) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_api_key
-- Let a key expire at a moment, if it does not before.
UPDATE api_keys SET expires = ?1 WHERE id = ?2 AND (expires IS NULL OR expires > ?3);

-- name: revoke_api_key
-- End a key; one that was ended stays so.
UPDATE api_keys SET revoked = COALESCE(revoked, ?) WHERE id = ?;

-- name: note_key_use
-- Note when a key was used, if that was later than what is known.
UPDATE api_keys SET last_used = ?1 WHERE id = ?2 AND (last_used IS NULL OR last_used < ?3);

-- name: spend_request_id
-- Record the id of a signed request; nothing happens where it was used before.
INSERT INTO spent_request_ids (key_id, request_id, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: forget_request_ids
-- Forget some of the ids whose moment has passed.
DELETE FROM spent_request_ids WHERE (key_id, request_id) IN (SELECT key_id, request_id FROM spent_request_ids WHERE until < ? LIMIT ?);
