-- Named queries of the PostgreSQL ledger. A name, a line that says what it is for, the query.

-- name: new_writer
-- Register a process that writes.
INSERT INTO writers (started) VALUES ($1) RETURNING id;

-- name: append
-- Record events and how far their writers are, in one statement.
WITH recorded AS (
    INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
    SELECT board, writer, n, player, kind, amount, at, received, segments::jsonb, game_id, metadata::json
    FROM unnest($1::int[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[],
                $10::text[], $11::text[]) AS e (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
    RETURNING board, writer, n
)
INSERT INTO positions (board, writer, n)
SELECT board, writer, MAX(n) FROM recorded GROUP BY board, writer
ON CONFLICT (board, writer) DO UPDATE SET n = excluded.n;

-- name: claim_keys
-- Record idempotency keys; those that were claimed before are passed over.
INSERT INTO idempotency (board, key, fingerprint)
SELECT * FROM unnest($1::int[], $2::text[], $3::bytea[]) ORDER BY 1, 2
ON CONFLICT DO NOTHING RETURNING board, key;

-- name: claimed_key
-- What is known of a claimed key.
SELECT fingerprint, answer FROM idempotency WHERE board = $1 AND key = $2;

-- name: save_answers
-- Keep the answers of claimed keys.
UPDATE idempotency i SET answer = a.answer
FROM unnest($1::int[], $2::text[], $3::bytea[]) AS a (board, key, answer) WHERE i.board = a.board AND i.key = a.key;

-- name: events_of_writer
-- A writer's events on a board behind a position.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata
FROM events WHERE board = $1 AND writer = $2 AND n > $3 ORDER BY n LIMIT $4;

-- name: events_of_player
-- A player's events on a board.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata
FROM events WHERE board = $1 AND player = $2 ORDER BY writer, n;

-- name: positions
-- The last event of each writer on a board.
SELECT writer, n FROM positions WHERE board = $1 ORDER BY writer;

-- name: lock_boards
-- Let definitions change one after the other.
LOCK TABLE boards IN SHARE ROW EXCLUSIVE MODE;

-- name: current_boards
-- The newest version of every board that was not deleted.
SELECT b.id, b.version, b.definition, b.meaning
FROM boards b
WHERE b.version = (SELECT MAX(version) FROM boards WHERE id = b.id) AND b.deleted IS NULL
ORDER BY b.name COLLATE "C";

-- name: next_board_id
-- The number for a new board.
SELECT COALESCE(MAX(id), 0) + 1 FROM boards;

-- name: put_board
-- Record a version of a definition.
INSERT INTO boards (id, version, meaning, name, definition, created) VALUES ($1, $2, $3, $4, $5, $6);

-- name: delete_board
-- End a board's life.
UPDATE boards SET deleted = $1 WHERE name = $2 AND deleted IS NULL;

-- name: last_checkpoint
-- The number of the newest checkpoint of a board.
SELECT COALESCE(MAX(number), 0) FROM checkpoints WHERE board = $1;

-- name: begin_checkpoint
-- Begin a checkpoint.
INSERT INTO checkpoints (board, number, base, meaning, positions) VALUES ($1, $2, $3, $4, $5);

-- name: put_standings
-- Checkpoint some states of a ranking.
INSERT INTO standings (board, "window", window_id, segment, player, score, since, checkpoint)
SELECT $1, $2, $3, $4, s.player, s.score, s.since, $5 FROM unnest($6::text[], $7::bigint[], $8::bigint[]) AS s (player, score, since)
ON CONFLICT (board, "window", window_id, segment, player)
DO UPDATE SET score = excluded.score, since = excluded.since, checkpoint = excluded.checkpoint;

-- name: remove_standings
-- Take players out of a checkpointed ranking.
DELETE FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND player = ANY($5::text[]);

-- name: trim_standings
-- Remove some states of a ranking that belong to checkpoints below a number.
DELETE FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND player IN (
    SELECT player FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint < $5 LIMIT $6
);

-- name: finish_checkpoint
-- Declare a checkpoint complete.
UPDATE checkpoints SET complete = true WHERE board = $1 AND number = $2;

-- name: prune_checkpoints
-- Forget the checkpoints that a complete one covers.
DELETE FROM checkpoints WHERE board = $1 AND number < $2;

-- name: checkpoints
-- The checkpoints of a board.
SELECT number, base, meaning, positions, complete FROM checkpoints WHERE board = $1 ORDER BY number;

-- name: put_ranking
-- Say when a ranking with checkpointed states may be dropped.
INSERT INTO rankings (board, "window", window_id, segment, expiry) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (board, "window", window_id, segment) DO UPDATE SET expiry = excluded.expiry;

-- name: forget_ranking
-- Forget a ranking that has no checkpointed states any more.
DELETE FROM rankings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND NOT EXISTS (
    SELECT 1 FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
);

-- name: rankings
-- The rankings of a board that have checkpointed states.
SELECT "window", window_id, segment, expiry FROM rankings WHERE board = $1;

-- name: standings
-- The states of a ranking that belong to some checkpoints, from a player on.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint BETWEEN $5 AND $6 AND player > $7
ORDER BY player LIMIT $8;

-- name: profiles
-- The profiles recorded since a moment.
SELECT player, name FROM players WHERE updated >= $1;

-- name: put_profile
-- Record a profile.
INSERT INTO players (player, name, updated) VALUES ($1, $2, $3)
ON CONFLICT (player) DO UPDATE SET name = excluded.name, updated = excluded.updated;

-- name: put_once
-- Keep a value unless there is one.
INSERT INTO ledger (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: put_value
-- Keep a value.
INSERT INTO ledger (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: value
-- A kept value.
SELECT value FROM ledger WHERE name = $1;
