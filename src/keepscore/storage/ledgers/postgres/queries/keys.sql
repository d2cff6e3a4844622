-- Named queries of the PostgreSQL ledger for API keys.

-- name: api_keys
-- All keys, the oldest first.
SELECT id, name, scope, boards::text, hash, created, expires, revoked, last_used, replaces FROM api_keys ORDER BY created, id COLLATE "C";

-- name: add_api_key
-- Record a key.
INSERT INTO api_keys (id, name, scope, boards, hash, created, expires, revoked, last_used, replaces)
VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $9, $10);

-- name: end_api_key
-- Let a key expire at a moment, if it does not before.
UPDATE api_keys SET expires = $1 WHERE id = $2 AND (expires IS NULL OR expires > $1);

-- name: revoke_api_key
-- End a key; one that was ended stays so.
UPDATE api_keys SET revoked = COALESCE(revoked, $1) WHERE id = $2 RETURNING 1;

-- name: note_key_uses
-- Note when keys were used, where that was later than what is known.
UPDATE api_keys k SET last_used = u.moment FROM unnest($1::text[], $2::bigint[]) AS u (id, moment)
WHERE k.id = u.id AND (k.last_used IS NULL OR k.last_used < u.moment);

-- name: spend_request_id
-- Record the id of a signed request; no row where it was used before.
INSERT INTO spent_request_ids (key_id, request_id, until) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1;

-- name: forget_request_ids
-- Forget some of the ids whose moment has passed.
DELETE FROM spent_request_ids WHERE (key_id, request_id) IN (
    SELECT key_id, request_id FROM spent_request_ids WHERE until < $1 LIMIT $2
) RETURNING 1;
