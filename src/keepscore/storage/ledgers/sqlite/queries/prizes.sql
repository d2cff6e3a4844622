-- Named queries of the SQLite ledger for prizes. A name, a line that says what it is for, the query.

-- name: closed_early
-- Windows that were closed before their end.
SELECT board, window, window_id, closed_at FROM prize_windows WHERE closed_at IS NOT NULL;

-- name: prize_window
-- What is recorded of a window, how many rewards it has, and how many are settled.
SELECT closed_at, close_reason, final_at, archive, statement,
    (SELECT COUNT(*) FROM rewards r WHERE r.board = ?1 AND r.window = ?2 AND r.window_id = ?3),
    (SELECT COUNT(*) FROM rewards r WHERE r.board = ?1 AND r.window = ?2 AND r.window_id = ?3 AND r.state IN ('paid', 'claimed'))
FROM prize_windows WHERE board = ?1 AND window = ?2 AND window_id = ?3;

-- name: undecided
-- The archived windows of a board whose winners are not decided, and when each was closed.
SELECT a.window, a.window_id, MIN(a.taken) FROM archives a
WHERE a.board = ?1 AND a.segment = '' AND a.kind = 'closed' AND a.number = 1 AND a.complete AND NOT EXISTS (
    SELECT 1 FROM prize_windows p WHERE p.board = ?1 AND p.window = a.window AND p.window_id = a.window_id AND p.final_at IS NOT NULL)
GROUP BY a.window, a.window_id;

-- name: prize_versions
-- When each version of a board was defined, the newest first, and whether it has a prize.
SELECT created, json_extract(definition, '$.prize') IS NOT NULL FROM boards WHERE id = ? ORDER BY version DESC;

-- name: close_early
-- Close a window before its end, once.
INSERT INTO prize_windows (board, window, window_id, closed_at, close_reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: decide_window
-- Decide a window once, by its last archive.
INSERT INTO prize_windows (board, window, window_id, final_at, archive, statement)
SELECT ?1, ?2, ?3, ?4, ?5, ?6
WHERE ?5 = (SELECT a.id FROM archives a WHERE a.board = ?1 AND a.window = ?2 AND a.window_id = ?3 AND a.segment = ''
    AND a.kind = 'closed' AND a.complete ORDER BY a.number DESC LIMIT 1)
ON CONFLICT (board, window, window_id) DO UPDATE SET final_at = excluded.final_at, archive = excluded.archive, statement = excluded.statement
WHERE prize_windows.final_at IS NULL;

-- name: add_reward
-- Record a reward.
INSERT INTO rewards (board, window, window_id, id, rank, player, give, state, settled_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: prize_holds
-- The winners of a window whose rewards wait.
SELECT player, reason, at FROM prize_holds WHERE board = ? AND window = ? AND window_id = ?;

-- name: put_hold
-- Let a winner's reward wait.
INSERT INTO prize_holds (board, window, window_id, player, reason, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (board, window, window_id, player) DO UPDATE SET reason = excluded.reason, at = excluded.at;

-- name: drop_hold
-- Let it wait no longer.
DELETE FROM prize_holds WHERE board = ? AND window = ? AND window_id = ? AND player = ?;

-- name: rewards
-- The rewards of a window, from one rank to another.
SELECT id, rank, player, give, state, settled_at FROM rewards
WHERE board = ? AND window = ? AND window_id = ? AND rank BETWEEN ? AND ? ORDER BY rank;

-- name: reward_of
-- The reward of a winner.
SELECT id, rank, player, give, state, settled_at FROM rewards WHERE board = ? AND window = ? AND window_id = ? AND player = ?;

-- name: hold_reward
-- Let a decided reward wait.
UPDATE rewards SET state = 'held' WHERE id = ? AND state IN ('pending', 'held');

-- name: release_reward
-- Let a decided reward wait no longer.
UPDATE rewards SET state = 'pending' WHERE id = ? AND state = 'held';

-- name: claim_reward
-- Settle a reward by a claim.
UPDATE rewards SET state = 'claimed', settled_at = ? WHERE id = ? AND state = 'pending';
