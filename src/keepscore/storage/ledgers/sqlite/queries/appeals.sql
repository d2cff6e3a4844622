-- Named queries of the SQLite ledger for appeals.

-- name: add_appeal
-- Record an appeal, unless the player has appealed against the decision before.
INSERT INTO appeals (id, decision, board, player, text, at, state) VALUES (?, ?, ?, ?, ?, ?, 'open') ON CONFLICT DO NOTHING;

-- name: appeal
-- One appeal.
SELECT id, decision, board, player, text, at, state, reply, replied FROM appeals WHERE id = ?;

-- name: appeals
-- Some appeals about some boards behind one, the oldest first.
SELECT id, decision, board, player, text, at, state, reply, replied FROM appeals
WHERE state = ?1 AND (at, id) > (?2, ?3) AND board IN (SELECT value FROM json_each(?4)) AND (?5 IS NULL OR player = ?5)
ORDER BY at, id LIMIT ?6;

-- name: reply_to_appeal
-- Reply to an appeal that is open.
UPDATE appeals SET state = ?, reply = ?, replied = ? WHERE id = ? AND state = 'open';
