-- Named queries of the SQLite ledger for idempotency keys.

-- name: claim_key
-- Record a claim that belongs to recorded events; nothing happens where the key was claimed before.
INSERT INTO idempotency (kind, target, key, fingerprint, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: claim_first
-- Record a claim on whose effect an owner works; nothing happens where the key was claimed before.
INSERT INTO idempotency (kind, target, key, fingerprint, created, owner) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: claimed_key
-- What is known of a claimed key.
SELECT fingerprint, answer, owner, beats FROM idempotency WHERE kind = ? AND target = ? AND key = ?;

-- name: take_over
-- Change the owner of a claim to which nothing has happened.
UPDATE idempotency SET owner = ?1, beats = beats + 1 WHERE kind = ?2 AND target = ?3 AND key = ?4 AND owner = ?5 AND beats = ?6;

-- name: beat
-- Say that the owner of a claim lives.
UPDATE idempotency SET beats = beats + 1 WHERE kind = ? AND target = ? AND key = ? AND owner = ?;

-- name: take_effect
-- Keep the answer of a claim with its effect.
UPDATE idempotency SET answer = ?1 WHERE kind = ?2 AND target = ?3 AND key = ?4 AND owner = ?5;

-- name: finish_claim
-- Keep the answer of a claim whose work is done.
UPDATE idempotency SET answer = ?1, owner = NULL WHERE kind = ?2 AND target = ?3 AND key = ?4 AND owner = ?5;

-- name: give_up
-- Let go of a claim without an effect.
DELETE FROM idempotency WHERE kind = ? AND target = ? AND key = ? AND owner = ? AND answer IS NULL;

-- name: forget_keys
-- Forget some of the keys that were claimed before a moment.
DELETE FROM idempotency WHERE (kind, target, key) IN (
    SELECT kind, target, key FROM idempotency WHERE created < ? AND kind <> 'import' AND kind <> 'match' LIMIT ?
);

-- name: save_answer
-- Keep the answer of a claimed key.
UPDATE idempotency SET answer = ? WHERE kind = ? AND target = ? AND key = ?;

-- name: imported
-- What was recorded with the imports of a board, from a key on.
SELECT key, answer FROM idempotency WHERE kind = 'import' AND target = ? AND key > ? AND answer IS NOT NULL ORDER BY key LIMIT ?;
