-- Named queries of the SQLite ledger for the outbox. A name, a line that says what it is for, the query.

-- name: add_message
-- Put a message into the outbox.
INSERT INTO outbox (id, topic, board, body, created, next_at) VALUES (?, ?, ?, ?, ?, ?);

-- name: due_messages
-- Messages that are to be sent.
SELECT id, topic, board, body, created, attempts, next_at, acknowledged_at, error FROM outbox
WHERE acknowledged_at IS NULL AND next_at <= ? ORDER BY next_at, id LIMIT ?;

-- name: begin_message
-- Count a try.
UPDATE outbox SET attempts = attempts + 1, next_at = ? WHERE id = ? AND attempts = ? AND acknowledged_at IS NULL;

-- name: acknowledge_message
-- The receiver has it.
UPDATE outbox SET acknowledged_at = ?, error = NULL WHERE id = ? AND acknowledged_at IS NULL;

-- name: pay_reward
-- The reward that an acknowledged message tells of is paid.
UPDATE rewards SET state = 'paid', settled_at = ? WHERE id = ? AND state = 'pending';

-- name: fail_message
-- Why the last try failed.
UPDATE outbox SET error = ? WHERE id = ? AND attempts = ? AND acknowledged_at IS NULL;

-- name: retry_messages
-- Make a message, or all, due.
UPDATE outbox SET next_at = ?1 WHERE acknowledged_at IS NULL AND (?2 IS NULL OR id = ?2);

-- name: withdraw_message
-- Take back a message that has never left.
DELETE FROM outbox WHERE id = ? AND attempts = 0;

-- name: message_is_there
-- Whether a message is in the outbox.
SELECT EXISTS (SELECT 1 FROM outbox WHERE id = ?);

-- name: messages
-- Messages, the newest first.
SELECT id, topic, board, body, created, attempts, next_at, acknowledged_at, error FROM outbox
WHERE (created, id) < (?1, ?2) AND (?3 IS NULL OR ?3 = (acknowledged_at IS NULL)) ORDER BY created DESC, id DESC LIMIT ?4;

-- name: outbox_count
-- How many messages wait, and how many of them have failed.
SELECT COUNT(*), COUNT(error) FROM outbox WHERE acknowledged_at IS NULL;
