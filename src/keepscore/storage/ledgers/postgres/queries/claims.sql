-- Named queries of the PostgreSQL ledger for idempotency keys.

-- name: claim_first
-- Record a claim on whose effect an owner works; no row where the key was claimed before.
INSERT INTO idempotency (kind, target, key, fingerprint, created, owner) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING 1;

-- name: claimed_key
-- What is known of a claimed key.
SELECT fingerprint, answer, owner, beats FROM idempotency WHERE kind = $1 AND target = $2 AND key = $3;

-- name: take_over
-- Change the owner of a claim to which nothing has happened.
UPDATE idempotency SET owner = $1, beats = beats + 1 WHERE kind = $2 AND target = $3 AND key = $4 AND owner = $5 AND beats = $6 RETURNING 1;

-- name: beat
-- Say that the owner of some claims lives.
UPDATE idempotency i SET beats = beats + 1 FROM unnest($1::text[], $2::text[], $3::text[]) AS c (kind, target, key)
WHERE i.kind = c.kind AND i.target = c.target AND i.key = c.key AND i.owner = $4;

-- name: take_effect
-- Keep the answer of a claim with its effect.
UPDATE idempotency SET answer = $1 WHERE kind = $2 AND target = $3 AND key = $4 AND owner = $5 RETURNING 1;

-- name: finish_claim
-- Keep the answer of a claim whose work is done.
UPDATE idempotency SET answer = $1, owner = NULL WHERE kind = $2 AND target = $3 AND key = $4 AND owner = $5 RETURNING 1;

-- name: give_up
-- Let go of a claim without an effect.
DELETE FROM idempotency WHERE kind = $1 AND target = $2 AND key = $3 AND owner = $4 AND answer IS NULL;

-- name: forget_keys
-- Forget some of the keys that were claimed before a moment.
DELETE FROM idempotency WHERE (kind, target, key) IN (
    SELECT kind, target, key FROM idempotency WHERE created < $1 AND kind <> 'import' AND kind <> 'match' LIMIT $2
) RETURNING 1;

-- name: save_answers
-- Keep the answers of claimed keys.
UPDATE idempotency i SET answer = a.answer FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[]) AS a (kind, target, key, answer)
WHERE i.kind = a.kind AND i.target = a.target AND i.key = a.key;

-- name: imported
-- What was recorded with the imports of a board, from a key on.
SELECT key, answer FROM idempotency WHERE kind = 'import' AND target = $1 AND key > $2 AND answer IS NOT NULL ORDER BY key LIMIT $3;
