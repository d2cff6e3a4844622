-- Named queries of the PostgreSQL ledger for the outbox. A name, a line that says what it is for, the query.

-- name: add_messages
-- Put messages into the outbox.
INSERT INTO outbox (id, topic, board, body, created, next_at)
SELECT given.id, $3, $4, given.body, $5, $5 FROM unnest($1::text[], $2::text[]) AS given (id, body);

-- name: due_messages
-- Messages that are to be sent.
SELECT id, topic, board, body, created, attempts, next_at, acknowledged_at, error FROM outbox
WHERE acknowledged_at IS NULL AND next_at <= $1 ORDER BY next_at, id COLLATE "C" LIMIT $2;

-- name: begin_message
-- Count a try.
UPDATE outbox SET attempts = attempts + 1, next_at = $1 WHERE id = $2 AND attempts = $3 AND acknowledged_at IS NULL RETURNING 1;

-- name: acknowledge_message
-- The receiver has it.
UPDATE outbox SET acknowledged_at = $1, error = NULL WHERE id = $2 AND acknowledged_at IS NULL RETURNING 1;

-- name: pay_reward
-- The reward that an acknowledged message tells of is paid.
UPDATE rewards SET state = 'paid', settled_at = $1 WHERE id = $2 AND state = 'pending';

-- name: fail_message
-- Why the last try failed.
UPDATE outbox SET error = $1 WHERE id = $2 AND attempts = $3 AND acknowledged_at IS NULL;

-- name: retry_messages
-- Make a message, or all, due.
UPDATE outbox SET next_at = $1 WHERE acknowledged_at IS NULL AND ($2::text IS NULL OR id = $2) RETURNING 1;

-- name: withdraw_message
-- Take back a message that has never left.
DELETE FROM outbox WHERE id = $1 AND attempts = 0 RETURNING 1;

-- name: message_is_there
-- Whether a message is in the outbox.
SELECT EXISTS (SELECT 1 FROM outbox WHERE id = $1);

-- name: messages
-- Messages, the newest first.
SELECT id, topic, board, body, created, attempts, next_at, acknowledged_at, error FROM outbox
WHERE (created, id COLLATE "C") < ($1::bigint, $2::text) AND ($3::boolean IS NULL OR $3 = (acknowledged_at IS NULL))
ORDER BY created DESC, id COLLATE "C" DESC LIMIT $4;

-- name: outbox_count
-- How many messages wait, and how many of them have failed.
SELECT COUNT(*), COUNT(error) FROM outbox WHERE acknowledged_at IS NULL;
