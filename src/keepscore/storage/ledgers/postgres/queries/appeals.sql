-- Named queries of the PostgreSQL ledger for appeals.

-- name: add_appeal
-- Record an appeal, unless the player has appealed against the decision before.
INSERT INTO appeals (id, decision, board, player, text, at, state) VALUES ($1, $2, $3, $4, $5, $6, 'open') ON CONFLICT DO NOTHING
RETURNING id;

-- name: appeal
-- One appeal.
SELECT id, decision, board, player, text, at, state, reply, replied FROM appeals WHERE id = $1;

-- name: appeals
-- Some appeals about some boards behind one, the oldest first.
SELECT id, decision, board, player, text, at, state, reply, replied FROM appeals
WHERE state = $1 AND (at, id) > ($2::bigint, $3::text) AND board = ANY ($4::int[]) AND ($5::text IS NULL OR player = $5)
ORDER BY at, id LIMIT $6;

-- name: reply_to_appeal
-- Reply to an appeal that is open.
UPDATE appeals SET state = $1, reply = $2, replied = $3 WHERE id = $4 AND state = 'open' RETURNING id;
