-- Named queries of the PostgreSQL ledger for the queue of scores that moderators decide about.

-- name: queued
-- One item.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key FROM queue WHERE id = $1;

-- name: queue_page
-- Some items of some boards behind one, the oldest first.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key
FROM queue
WHERE state = ANY ($1::text[]) AND (received, id) > ($2::bigint, $3::text) AND board = ANY ($4::int[])
  AND ($5::text IS NULL OR player = $5)
ORDER BY received, id LIMIT $6;

-- name: queue_of_player
-- How many items of a player on a board are open.
SELECT COUNT(*) FROM queue WHERE board = $1 AND player = $2 AND state = 'open';

-- name: decide_queued
-- Decide about an item, unless somebody else has.
UPDATE queue SET state = $1, decided = $2, reason = $3, key = $4 WHERE id = $5 AND state = $6 RETURNING id;

-- name: settle_queued
-- Note that the verdicts of a decision are recorded.
UPDATE queue SET state = $1 WHERE id = $2 AND state = $3;

-- name: queue_unsettled
-- Items whose verdicts may not be recorded yet.
SELECT id, board, player, kind, amount, at, received, is_held, reasons, events, state, decided, reason, key
FROM queue WHERE state IN ('approving', 'rejecting') ORDER BY received, id LIMIT $1;
