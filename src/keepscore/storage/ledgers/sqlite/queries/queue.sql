-- Named queries of the SQLite ledger for the queue of scores that moderators decide about.

-- name: queue
-- Put a score in the queue.
INSERT INTO queue (id, board, player, kind, amount, at, received, is_held, reasons, events, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open');

-- name: queued
-- One item.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key FROM queue WHERE id = ?;

-- name: queue_page
-- Some items of some boards behind one, the oldest first.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key
FROM queue
WHERE state IN (SELECT value FROM json_each(?1)) AND (received, id) > (?2, ?3) AND board IN (SELECT value FROM json_each(?4))
  AND (?5 IS NULL OR player = ?5)
ORDER BY received, id LIMIT ?6;

-- name: queue_of_player
-- How many items of a player on a board are open.
SELECT COUNT(*) FROM queue WHERE board = ? AND player = ? AND state = 'open';

-- name: decide_queued
-- Decide about an item, unless somebody else has.
UPDATE queue SET state = ?, decided = ?, reason = ?, key = ? WHERE id = ? AND state = ?;

-- name: settle_queued
-- Note that the verdicts of a decision are recorded.
UPDATE queue SET state = ? WHERE id = ? AND state = ?;

-- name: queue_unsettled
-- Items whose verdicts may not be recorded yet.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key
FROM queue WHERE state IN ('approving', 'rejecting') ORDER BY received, id LIMIT ?;
