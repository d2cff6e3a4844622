-- Named queries of the PostgreSQL ledger. A name, a line that says what it is for, the query.

-- name: be_durable
-- A commit waits for the disk, whatever the server's default is.
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local');

-- name: end_when_gone
-- Have the server notice within half a minute that the host of a connection is gone, so that the lock is free.
SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false);

-- name: is_read_only
-- Whether nothing can be written.
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on';

-- name: use_alone
-- Take the lock of the ledger, unless somebody uses it. It is let go with the connection.
SELECT pg_try_advisory_lock($1);

-- name: use_with_others
-- The same beside others who share it.
SELECT pg_try_advisory_lock_shared($1);

-- name: let_go
-- Let go of the lock.
SELECT pg_advisory_unlock_all();

-- name: end_connection
-- End a connection of this process, and wait until it has gone; no row where it has gone already.
SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2;

-- name: table_exists
-- Whether there is a table.
SELECT to_regclass($1) IS NOT NULL;

-- name: lock_schema
-- Let one process at a time change tables, until the end of its transaction.
SELECT pg_advisory_xact_lock($1);

-- name: make_history
-- Where migrations are listed.
CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now());

-- name: schema_version
-- How many migrations were applied.
SELECT COALESCE(MAX(version), 0) FROM migrations;

-- name: migrated
-- Say that a migration was applied.
INSERT INTO migrations (version) VALUES ($1);

-- name: partitions
-- The partitions of the events that there are.
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'events'::regclass;

-- name: make_partition
-- Make a partition, and then let events in: appends to the others need not wait for that.
CREATE TABLE {name} (LIKE events INCLUDING ALL);
ALTER TABLE events ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({last});

-- name: new_writer
-- Register a process that writes.
INSERT INTO writers (started) VALUES ($1) RETURNING id;

-- name: recorded
-- How far some writers are on some boards.
SELECT board, writer, n FROM positions WHERE writer = ANY($1::int[]);

-- name: append
-- Record events, idempotency keys and the answers of earlier keys. Where a key was claimed before, it is told, and nothing recorded.
-- A number that does not follow the writer's last one makes the position null, which is refused with everything else.
-- What all events share only the first of them has, numbers that follow one another begin with the first, and a time may be that of arrival.
WITH known AS (
    SELECT i.board, i.key, i.fingerprint, i.answer
    FROM unnest($12::int[], $13::text[]) AS c (board, key) JOIN idempotency i ON i.board = c.board AND i.key = c.key
), claimed AS (
    INSERT INTO idempotency (board, key, fingerprint, created)
    SELECT *, COALESCE(($8::bigint[])[1], 0) FROM unnest($12::int[], $13::text[], $14::bytea[]) WHERE NOT EXISTS (SELECT FROM known) ORDER BY 1, 2
), answered AS (
    UPDATE idempotency i SET answer = a.answer
    FROM unnest($15::int[], $16::text[], $17::bytea[]) AS a (board, key, answer)
    WHERE i.board = a.board AND i.key = a.key AND NOT EXISTS (SELECT FROM known)
), recorded AS (
    INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata)
    SELECT COALESCE(board, ($1::int[])[1]), COALESCE(writer, ($2::int[])[1]), COALESCE(n, ($3::bigint[])[1] + place - 1), player,
           COALESCE(kind, ($5::text[])[1]), amount, COALESCE(at, received, ($8::bigint[])[1]), COALESCE(received, ($8::bigint[])[1]),
           segments::jsonb, game_id, metadata::json
    FROM unnest($1::int[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[],
                $10::text[], $11::text[])
         WITH ORDINALITY AS e (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, place)
    WHERE NOT EXISTS (SELECT FROM known)
    RETURNING board, writer, n
), moved AS (
    INSERT INTO positions AS p (board, writer, before, n)
    SELECT board, writer, MIN(n) - 1, CASE WHEN MAX(n) - MIN(n) + 1 = COUNT(*) THEN MAX(n) END FROM recorded GROUP BY board, writer
    ON CONFLICT (board, writer) DO UPDATE SET before = excluded.before, n = CASE WHEN p.n = excluded.before THEN excluded.n END
)
SELECT board, key, fingerprint, answer FROM known;

-- name: forget_keys
-- Forget some of the keys that were claimed before a moment.
DELETE FROM idempotency WHERE (board, key) IN (SELECT board, key FROM idempotency WHERE created < $1 LIMIT $2) RETURNING 1;

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
-- End a board's life; the answer is its number and last version.
WITH ended AS (UPDATE boards SET deleted = $1 WHERE name = $2 AND deleted IS NULL RETURNING id, version)
SELECT id, MAX(version) FROM ended GROUP BY id;

-- name: audit
-- Note who did what.
INSERT INTO audit (at, who, action, board, detail) VALUES ($1, $2, $3, $4, $5);

-- name: last_checkpoint
-- The number of the newest checkpoint of a board.
SELECT COALESCE(MAX(number), 0) FROM checkpoints WHERE board = $1;

-- name: begin_checkpoint
-- Begin a checkpoint.
INSERT INTO checkpoints (board, number, base, meaning, positions, taken) VALUES ($1, $2, $3, $4, $5, $6);

-- name: put_standings
-- Checkpoint some states of a ranking, but those that a later checkpoint has.
INSERT INTO standings (board, "window", window_id, segment, player, score, since, checkpoint)
SELECT $1, $2, $3, $4, s.player, s.score, s.since, $5 FROM unnest($6::text[], $7::bigint[], $8::bigint[]) AS s (player, score, since)
ON CONFLICT (board, "window", window_id, segment, player)
DO UPDATE SET score = excluded.score, since = excluded.since, checkpoint = excluded.checkpoint
WHERE standings.checkpoint <= excluded.checkpoint;

-- name: remove_standings
-- Take players out of a checkpointed ranking, but those that a later checkpoint has.
DELETE FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint <= $5 AND player = ANY($6::text[]);

-- name: trim_standings
-- Remove some states of a ranking that belong to checkpoints below a number.
-- By place: a table that has just been filled has no statistics yet, and a join with itself may then take a second.
DELETE FROM standings WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND checkpoint < $5 LIMIT $6
));

-- name: finish_checkpoint
-- Declare a checkpoint complete.
UPDATE checkpoints SET complete = true WHERE board = $1 AND number = $2;

-- name: prune_checkpoints
-- Forget the checkpoints that a complete one covers.
DELETE FROM checkpoints WHERE board = $1 AND number < $2;

-- name: checkpoints
-- The checkpoints of a board.
SELECT number, base, meaning, positions, complete, taken FROM checkpoints WHERE board = $1 ORDER BY number;

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

-- name: standings_of
-- The states of some players in a ranking, and the checkpoints that they belong to.
SELECT player, score, since, checkpoint FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND player = ANY($5::text[]);

-- name: page_desc
-- The checkpointed rows of a ranking after the first ones, the highest score first. `ties` ($5) is 1, -1 or 0: earlier first, later
-- first, neither.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
ORDER BY score DESC, since * $5::bigint, player DESC LIMIT $6 OFFSET $7;

-- name: page_asc
-- The same, the lowest score first.
SELECT player, score, since FROM standings
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
ORDER BY score, since * $5::bigint, player LIMIT $6 OFFSET $7;

-- name: sample_desc
-- Every n-th row of a ranking with its rank, the highest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score DESC, since * $5::bigint, player DESC) AS place, player, score, since FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
) AS numbered WHERE (place - 1) % $6::bigint = 0 ORDER BY place;

-- name: sample_asc
-- The same, the lowest score first.
SELECT place, player, score, since FROM (
    SELECT row_number() OVER (ORDER BY score, since * $5::bigint, player) AS place, player, score, since FROM standings
    WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4
) AS numbered WHERE (place - 1) % $6::bigint = 0 ORDER BY place;

-- name: ahead_desc
-- How many rows of a ranking are ahead of one, how many have a better score, how many better scores there are, and how many rows.
SELECT
    (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score = $7
        AND (since * $5::bigint < $8::bigint * $5 OR (since * $5::bigint = $8::bigint * $5 AND player > $6))) + b.better,
    b.better, b.scores, (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4)
FROM (SELECT COUNT(*) AS better, COUNT(DISTINCT score) AS scores FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score > $7::bigint) b;

-- name: ahead_asc
-- The same, the lowest score first.
SELECT
    (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score = $7
        AND (since * $5::bigint < $8::bigint * $5 OR (since * $5::bigint = $8::bigint * $5 AND player < $6))) + b.better,
    b.better, b.scores, (SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4)
FROM (SELECT COUNT(*) AS better, COUNT(DISTINCT score) AS scores FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score < $7::bigint) b;

-- name: count_standings
-- How many rows of a ranking have a score in a range.
SELECT COUNT(*) FROM standings WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND score BETWEEN $5 AND $6;

-- name: unfinished
-- The archive of a ranking that was begun and not finished.
SELECT id FROM archives
WHERE board = $1 AND "window" = $2 AND window_id = $3 AND segment = $4 AND kind = $5 AND number = $6 AND NOT complete;

-- name: begin_archive
-- Begin an archive.
INSERT INTO archives (board, "window", window_id, segment, kind, number, taken) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id;

-- name: write_archive
-- Archive standings, unless the archive was dropped or finished meanwhile.
WITH open AS (SELECT id FROM archives WHERE id = $1 AND NOT complete FOR SHARE)
INSERT INTO snapshots (archive, rank, standard, dense, player, score, since)
SELECT open.id, given.*
FROM open, unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[]) AS given;

-- name: finish_archive
-- Declare an archive complete.
UPDATE archives SET players = $1, kept = $2, digest = $3, complete = true WHERE id = $4 AND NOT complete RETURNING id;

-- name: drop_archive_rows
-- Drop the rows of an archive.
DELETE FROM snapshots WHERE archive = $1;

-- name: drop_archive
-- Drop an archive.
DELETE FROM archives WHERE id = $1;

-- name: archives
-- The complete archives of a board: of one window, one window id, one kind, or any.
SELECT id, board, "window", window_id, segment, kind, number, taken, players, kept, digest FROM archives
WHERE board = $1 AND ($2::text IS NULL OR "window" = $2) AND ($3::text IS NULL OR window_id = $3) AND ($4::text IS NULL OR kind = $4) AND complete
ORDER BY "window", taken, window_id, segment, number;

-- name: archive_rows
-- Rows of an archive, from a rank on.
SELECT rank, standard, dense, player, score, since FROM snapshots WHERE archive = $1 AND rank > $2 ORDER BY rank LIMIT $3;

-- name: archive_places
-- The rows of some players in an archive.
SELECT rank, standard, dense, player, score, since FROM snapshots WHERE archive = $1 AND player = ANY($2::text[]);

-- name: archive_count
-- How many rows of an archive have a score in a range.
SELECT COUNT(*) FROM snapshots WHERE archive = $1 AND score BETWEEN $2 AND $3;

-- name: player_archives
-- The archives of a board that a player is in, with the player's row.
SELECT a.id, a.board, a."window", a.window_id, a.segment, a.kind, a.number, a.taken, a.players, a.kept, a.digest, s.rank, s.standard, s.dense, s.player, s.score, s.since
FROM archives a JOIN snapshots s ON s.archive = a.id AND s.player = $2
WHERE a.board = $1 AND a.complete ORDER BY a.taken, a.number;

-- name: events_between
-- Whether a board has an event of a time, or had one maybe that was dropped.
SELECT EXISTS (SELECT 1 FROM events WHERE board = $1 AND at >= $2 AND at < $3)
    OR EXISTS (SELECT 1 FROM openings WHERE board = $1 AND complete AND at > $2 AND first < $3);

-- name: first_event
-- The time of a board's earliest event, dropped ones included.
SELECT LEAST((SELECT MIN(at) FROM events WHERE board = $1), (SELECT MIN(first) FROM openings WHERE board = $1 AND complete));

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

-- name: values
-- All values whose names begin so.
SELECT name, value FROM ledger WHERE starts_with(name, $1);
